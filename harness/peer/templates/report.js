// SPDX-License-Identifier: GPL-2.0-only

const ROWS = "details[data-level]";

function suits(row) {
	return !form.outcome.value || row.dataset.outcome.split(" ").includes(form.outcome.value);
}

function reveal() {
	const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
	if (row && row.tagName === "DETAILS") {
		row.open = true;
		row.scrollIntoView();
	}
}

// At first when the form is there, which moves the rows.
for (const event of ["DOMContentLoaded", "hashchange"])
	addEventListener(event, reveal);
