// SPDX-License-Identifier: GPL-2.0-only
//
// Rows say in data- attributes what they are found by. Each page says in ROWS which of them it counts, and in
// suits() what else it asks of them.

const form = document.querySelector("form");

function filter() {
	const words = form.text.value.toLowerCase().split(/\s+/).filter(Boolean);
	for (const row of document.querySelectorAll("[data-level]")) {
		const text = row.textContent.toLowerCase();
		row.hidden = !(words.every(word => text.includes(word)) &&
			(!form.level.value || row.dataset.level === form.level.value) && suits(row));
	}
	// A group of rows has a heading, which goes with them.
	for (const group of document.querySelectorAll("section, .matrix tbody"))
		group.hidden = !group.querySelector("[data-level]:not([hidden])");
	form.shown.value = document.querySelectorAll(`${ROWS}:not([hidden])`).length + " shown";
}

form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", event => event.preventDefault());
filter();
