"use strict";
// unpack returns the text of a packed element.
async function unpack(id) {
	const packed = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (c) => c.charCodeAt(0));
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Response(stream).text();
}
// The policy of the page allows the code by its hash, and no other.
unpack("code").then((text) => {
	const script = document.createElement("script");
	script.textContent = text;
	document.body.append(script);
});
