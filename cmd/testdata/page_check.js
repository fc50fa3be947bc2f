// Says what is wrong with a page for people who see little, or read with the keyboard or by ear.
(() => {
	const wrong = [];
	const name = (e) => `${e.tagName.toLowerCase()}.${e.getAttribute("class") || ""} "${e.textContent.trim().slice(0, 40)}"`;

	// Colours: red, green, blue from 0 to 1, and alpha.
	function parse(text) {
		const n = (text.match(/-?[\d.]+(e-?\d+)?/g) || []).map(Number);
		if (text.startsWith("color(")) return [n[0], n[1], n[2], n[3] ?? 1];
		if (text.startsWith("rgb")) return [n[0] / 255, n[1] / 255, n[2] / 255, n[3] ?? 1];
		return null;
	}
	const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
	function behind(e) {
		const layers = [];
		for (let at = e; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
		return layers.filter(Boolean).reduce((below, top) => over(top, below), [1, 1, 1, 1]);
	}
	function luminance(c) {
		const [r, g, b] = c.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	}
	function contrast(a, b) {
		const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
		return (high + 0.05) / (low + 0.05);
	}

	let texts = 0;
	for (const e of document.body.querySelectorAll("*")) {
		const own = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
		if (!own || !e.getClientRects().length || !e.checkVisibility({ visibilityProperty: true }) || e.closest("script, style, title, desc")) continue;
		texts++;
		const style = getComputedStyle(e);
		const colour = parse(e.namespaceURI.endsWith("svg") ? style.fill : style.color);
		const ground = behind(e);
		const size = parseFloat(style.fontSize);
		const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
		const is = colour && contrast(over(colour, ground), ground);
		if (!colour || is < least) wrong.push(`contrast ${is && is.toFixed(2)} of ${name(e)}`);
	}
	if (texts < 20) wrong.push(`only ${texts} texts are seen`);

	// Names
	const label = (e) => (e.getAttribute("aria-label") || "").trim();
	for (const e of document.querySelectorAll("figure.chart")) {
		const pictures = [...e.querySelectorAll("[role=img]")];
		if (!pictures.length || pictures.some((p) => !label(p))) wrong.push(`chart without a label: ${e.id}`);
		if (!e.querySelector("figcaption h3")) wrong.push(`chart without a title: ${e.id}`);
	}
	for (const e of document.querySelectorAll("svg, canvas, img")) {
		if (!e.closest("[role=img], [role=group][aria-label], [aria-hidden=true]")) wrong.push(`picture without a label: ${name(e)}`);
	}
	for (const e of document.querySelectorAll("table:not(.u-legend)")) {
		if (!e.caption?.textContent.trim()) wrong.push(`table without a caption: ${e.id}`);
		const heads = [...(e.tHead?.querySelectorAll("th[scope=col]") || [])];
		if (!heads.length) wrong.push(`table without heads: ${e.id}`);
		for (const row of e.tBodies[0].rows) if (row.cells.length !== heads.length) wrong.push(`row of ${row.cells.length} cells below ${heads.length} heads: ${e.id}`);
	}
	for (const e of document.querySelectorAll("button")) if (!label(e) && !e.textContent.trim()) wrong.push("button without a name");
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) wrong.push(`two elements are called ${id}`);
	for (const e of document.querySelectorAll("[aria-labelledby]")) {
		if (!document.getElementById(e.getAttribute("aria-labelledby"))) wrong.push(`no label ${e.getAttribute("aria-labelledby")}`);
	}

	// Structure
	if (document.documentElement.lang !== "en" || !document.title) wrong.push("no language or title");
	if (document.querySelectorAll("main").length !== 1 || document.querySelectorAll("h1").length !== 1) wrong.push("not one main and one h1");
	let level = 0;
	for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
		const l = Number(h.tagName[1]);
		if (l > level + 1) wrong.push(`heading ${name(h)} skips a level`);
		level = l;
	}
	return wrong;
})()
