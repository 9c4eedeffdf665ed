// SPDX-License-Identifier: GPL-2.0-only
//
// What a reader of the page in this window would complain of. complaints() says it, a string each, or nothing.

// Of text against what is behind it (WCAG 2, 1.4.3).
const LEAST_CONTRAST = 4.5;
// Positions are fractions of pixels, and sizes are rounded.
const ROUNDING = 1;
const SPECIFICATIONS = [
	/^https:\/\/www\.rfc-editor\.org\/rfc\/rfc\d{4}\.html#section-\d+(\.\d+)*$/,
	/^https:\/\/datatracker\.ietf\.org\/doc\/html\/draft-[a-z0-9-]+-\d{2}#section-\d+(\.\d+)*$/,
];

function complaints() {
	return [...overflow(), ...cutTexts(), ...faintTexts(), ...wrongLinks(), ...wrongAnchors(), ...missingNames()];
}

function excerpt(text) {
	const words = text.trim().replace(/\s+/g, " ");
	return words.length > 40 ? words.slice(0, 40) + "..." : words;
}

function isShown(element) {
	return element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
}

function* shownTexts() {
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const parent = walker.currentNode.parentElement;
		if (walker.currentNode.data.trim() && !parent.closest("script, style, option") && isShown(parent))
			yield walker.currentNode;
	}
}

function* ancestorsOf(element) {
	for (; element; element = element.parentElement)
		yield element;
}

function overflow() {
	const page = document.documentElement;
	return page.scrollWidth > page.clientWidth ?
		[`the page is ${page.scrollWidth} pixels wide in a window of ${page.clientWidth}`] : [];
}

// Outside its box, a text lies over another, or nobody sees it, unless a box around it can be scrolled.
function cutTexts() {
	const found = [];
	for (const text of shownTexts()) {
		const range = document.createRange();
		range.selectNodeContents(text);
		for (const box of ancestorsOf(text.parentElement)) {
			const style = getComputedStyle(box);
			if (["auto", "scroll"].includes(style.overflowX))
				break;
			if (style.display !== "inline" && [...range.getClientRects()].some(line => isOutside(line, box, style))) {
				found.push(`text is cut, or lies over its box (${box.tagName}): ${excerpt(text.data)}`);
				break;
			}
		}
	}
	return found;
}

function isOutside(line, box, style) {
	const { left, right, top, bottom } = box.getBoundingClientRect();
	const isBeside = line.left < left - ROUNDING || line.right > right + ROUNDING;
	const isBelow = line.top < top - ROUNDING || line.bottom > bottom + ROUNDING;
	return isBeside || (isBelow && style.overflowY !== "visible");
}

function faintTexts() {
	const found = new Set();
	for (const text of shownTexts())
		complainOfColour(found, text.parentElement, "", text.data);
	for (const element of document.querySelectorAll("body *"))
		for (const part of ["::before", "::after"])
			if (isShown(element) && /\w/.test(getComputedStyle(element, part).content.replace(/^none$/, "")))
				complainOfColour(found, element, part, getComputedStyle(element, part).content);
	for (const input of document.querySelectorAll("input[placeholder]"))
		complainOfColour(found, input, "::placeholder", input.placeholder);
	for (const input of document.querySelectorAll("select"))
		complainOfColour(found, input, "", input.value || "a choice");
	return [...found];
}

function complainOfColour(found, element, part, text) {
	const background = backgroundOf(element);
	const contrast = contrastOf(over(colourOf(getComputedStyle(element, part).color), background), background);
	if (contrast < LEAST_CONTRAST)
		found.add(`contrast is ${contrast.toFixed(2)} (${element.className || element.tagName}): ${excerpt(text)}`);
}

// Red, green, blue and alpha of a colour of any notation, each from 0 to 1.
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
function colourOf(text) {
	canvas.clearRect(0, 0, 1, 1);
	canvas.fillStyle = text;
	canvas.fillRect(0, 0, 1, 1);
	return [...canvas.getImageData(0, 0, 1, 1).data].map(value => value / 255);
}

function over([red, green, blue, alpha], below) {
	return [red, green, blue].map((value, index) => value * alpha + below[index] * (1 - alpha)).concat(1);
}

// White where nothing is painted.
function backgroundOf(element) {
	const layers = [...ancestorsOf(element)].map(box => colourOf(getComputedStyle(box).backgroundColor));
	return layers.reduceRight((below, layer) => over(layer, below), [1, 1, 1, 1]);
}

function luminanceOf(colour) {
	const [red, green, blue] = colour.map(value =>
		value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrastOf(one, other) {
	const [dark, bright] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
	return (bright + 0.05) / (dark + 0.05);
}

function wrongLinks() {
	return [...document.links].map(link => link.getAttribute("href"))
		.filter(href => !href.startsWith("#") && !SPECIFICATIONS.some(form => form.test(href)))
		.map(href => `a link to no section of a specification: ${href}`);
}

function wrongAnchors() {
	const all = [...document.querySelectorAll("[id]")].map(element => element.id);
	const twice = all.filter((id, index) => all.indexOf(id) < index).map(id => `two elements with one id: ${id}`);
	const nowhere = [...document.querySelectorAll("a[href^='#']")].map(link => link.getAttribute("href").slice(1))
		.filter(id => !document.getElementById(decodeURIComponent(id))).map(id => `a link to nothing here: #${id}`);
	return [...twice, ...nowhere];
}

function missingNames() {
	const nameless = [...document.querySelectorAll("input, select")].filter(element =>
		!element.labels.length && !element.getAttribute("aria-label"));
	return [...nameless.map(element => `a field without a name: ${element.name}`),
		...(document.title ? [] : ["the page has no title"])];
}
