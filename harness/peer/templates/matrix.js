// SPDX-License-Identifier: GPL-2.0-only

const ROWS = "tr[data-level]";

function suits(row) {
	return !form.differing.checked || row.classList.contains("differs");
}
