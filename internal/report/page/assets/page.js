"use strict";
(() => {
	const root = document.documentElement;
	const data = JSON.parse(document.getElementById("charts").textContent);
	const line = data.timeline;

	// How numbers are written: as kt writes them on its screen.

	const trim = (s) => (s.includes(".") ? s.replace(/\.?0+$/, "") : s);

	// fixed is toFixed that rounds a half to the even digit, as Go does.
	function fixed(v, digits) {
		const exact = v.toFixed(60);
		const end = exact.indexOf(".") + (digits && digits + 1);
		const half = /^\.?50*$/.test(exact.slice(end));
		return half && "02468".includes(exact[end - 1]) ? exact.slice(0, end) : v.toFixed(digits);
	}

	function number(v) {
		const a = Math.abs(v);
		return fixed(v, a < 9.995 ? 2 : a < 99.95 ? 1 : 0);
	}

	function rate(v) {
		if (v < 0) return "-" + rate(-v);
		if (v < 999.5) return trim(number(v));
		let i = -1;
		for (; v >= 999.5 && i < 5; i++) v /= 1000;
		return number(v) + "kMGTPE"[i];
	}

	function tick(v) {
		const s = rate(v);
		return /[kMGTPE]$/.test(s) ? trim(s.slice(0, -1)) + s.slice(-1) : trim(s);
	}

	const two = (n) => String(n).padStart(2, "0");

	function duration(s) {
		if (s < 0) return "-" + duration(-s);
		const ns = Math.round(s * 1e9);
		if (ns === 0) return "0s";
		if (ns < 1e3) return ns + "ns";
		if (ns < 999.5e3) return trim(number(ns / 1e3)) + "µs";
		if (ns < 999.5e6) return number(ns / 1e6) + "ms";
		if (ns < 59.95e9) return number(Math.floor(ns / 1e9) + (ns % 1e9) / 1e9) + "s";
		const whole = Math.round(s);
		if (whole < 3600) return Math.floor(whole / 60) + "m" + two(whole % 60) + "s";
		const minutes = Math.round(s / 60);
		return Math.floor(minutes / 60) + "h" + two(minutes % 60) + "m";
	}

	function tickDuration(s) {
		s = Math.round(s * 1e9) / 1e9;
		if (s >= 60 && s < 3600 && s !== 60 && s % 60 === 0) return s / 60 + "m";
		if (s >= 1 && s < 120 && s % 1 === 0) return s + "s";
		const text = duration(s);
		if (s >= 60 || s <= 0) return text;
		const unit = text.replace(/^[0-9.]+/, "");
		return trim(text.slice(0, text.length - unit.length)) + unit;
	}

	function percentile(v) {
		return (100 - 100 / v).toFixed(Math.max(0, Math.floor(Math.log10(v) + 1e-9) - 2)) + "%";
	}

	const units = {
		time: { text: duration, tick: tickDuration },
		latency: { text: duration, tick: tickDuration },
		rate: { text: (v) => rate(v) + "/s", tick },
		count: { text: rate, tick },
		cores: { text: number, tick: (v) => String(Number(v.toPrecision(4))) },
		percentile: { text: (v) => (100 - 100 / v).toPrecision(5).replace(/\.?0+$/, "") + "%", tick: percentile },
	};

	// Colours are custom properties of the style, and change with the scheme.

	const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
	const marks = { worst: "bad", worse: "warn", better: "good", neutral: "target" };

	// Axes

	function roundUp(v) {
		if (!(v > 0)) return 1;
		const power = 10 ** Math.floor(Math.log10(v));
		return [1, 2, 2.5, 5, 10].find((m) => v <= m * power * (1 + 1e-9)) * power;
	}

	function decades(lo, hi) {
		if (!(hi > 0)) return [1e-3, 1];
		const from = Math.floor(Math.log10(lo) + 1e-9);
		const to = Math.ceil(Math.log10(hi) - 1e-9);
		return [10 ** from, 10 ** Math.max(to, from + 2)];
	}

	function powers(lo, hi) {
		const all = [];
		for (let e = Math.ceil(Math.log10(lo) - 1e-9); 10 ** e <= hi * 1.0001; e++) all.push(10 ** e);
		return all;
	}

	const timeSteps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
	const font = "11px system-ui, sans-serif";

	function axis(unit, log) {
		const a = {
			stroke: colour("muted"), font,
			grid: { stroke: colour("grid"), width: 0.6 }, ticks: { show: false },
			values: (u, splits) => splits.map((v) => (v === null ? "" : units[unit].tick(v))),
		};
		if (unit === "time") a.incrs = timeSteps;
		if (log) {
			a.splits = (u, i, lo, hi) => powers(lo, hi);
			a.filter = (u, splits) => splits;
		}
		return a;
	}

	// The time that all charts show.

	const view = line && { min: line.from, max: line.to };
	const live = [];
	let hovered = null; // the chart under the pointer; the cursors of others follow it

	function zoom(min, max) {
		const whole = line.to - line.from;
		const length = Math.min(Math.max(max - min, whole / 2000), whole);
		view.min = Math.min(Math.max(min, line.from), line.to - length);
		view.max = view.min + length;
		for (const u of live) if (u.timed) u.setScale("x", view);
	}

	function zoomBy(factor) {
		const middle = (view.min + view.max) / 2;
		const half = ((view.max - view.min) / 2) * factor;
		zoom(middle - half, middle + half);
	}

	function pan(share) {
		const by = (view.max - view.min) * share;
		zoom(view.min + by, view.max + by);
	}

	const steps = {
		"+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2),
		0: () => zoom(line.from, line.to), Escape: () => zoom(line.from, line.to),
		ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
	};

	// What happened: shaded times behind the lines, events before them.

	function drawBands(u) {
		const { left, top, width, height } = u.bbox;
		const looks = { warmup: ["muted", 0.13], outage: ["bad", 0.12], gap: ["bad", 0.26] };
		u.ctx.save();
		for (const band of line.bands) {
			const [name, alpha] = looks[band.class];
			const from = Math.max(u.valToPos(band.from, "x", true), left);
			const to = Math.min(u.valToPos(band.to, "x", true), left + width);
			u.ctx.globalAlpha = alpha;
			u.ctx.fillStyle = colour(name);
			if (to > from) u.ctx.fillRect(from, top, Math.max(to - from, uPlot.pxRatio), height);
		}
		u.ctx.restore();
	}

	function drawMarks(u) {
		const { left, top, width, height } = u.bbox;
		const px = uPlot.pxRatio;
		const ctx = u.ctx;
		ctx.save();
		ctx.font = `600 ${10 * px}px system-ui, sans-serif`;
		ctx.textAlign = "center";
		ctx.lineWidth = px;
		ctx.setLineDash([2 * px, 2 * px]);
		for (const group of grouped(u, left, width, 26 * px)) {
			for (const { x, mark } of group) {
				ctx.strokeStyle = colour(marks[mark.class]);
				ctx.beginPath();
				ctx.moveTo(x, top);
				ctx.lineTo(x, top + height);
				ctx.stroke();
			}
			const first = group[0], last = group[group.length - 1];
			const worst = Object.keys(marks).find((c) => group.some((m) => m.mark.class === c));
			ctx.fillStyle = colour(marks[worst]);
			ctx.fillText(first.mark.number + (group.length > 1 ? "–" + last.mark.number : ""), first.x, top - 4 * px);
		}
		ctx.restore();
	}

	// grouped puts marks that are too near to each other for a number each in groups.
	function grouped(u, left, width, least) {
		const groups = [];
		for (const mark of line.marks) {
			const x = u.valToPos(mark.at, "x", true);
			if (x < left - 1 || x > left + width + 1) continue;
			const last = groups[groups.length - 1];
			if (last && x - last[0].x < least) last.push({ x, mark });
			else groups.push([{ x, mark }]);
		}
		return groups;
	}

	// drawLabels writes the names of lines on them, each at another place.
	function drawLabels(u, series) {
		const { left, width } = u.bbox;
		const px = uPlot.pxRatio;
		u.ctx.save();
		u.ctx.font = `700 ${12 * px}px system-ui, sans-serif`;
		u.ctx.textAlign = "center";
		u.ctx.lineWidth = 3 * px;
		u.ctx.strokeStyle = colour("card");
		series.forEach((s, n) => {
			if (!s.label || !u.series[n + 1].show) return;
			const wanted = left + (width * (n + 1)) / (series.length + 1);
			let at = null;
			for (let i = u.series[0].idxs[0]; i <= u.series[0].idxs[1]; i++) {
				if (s.values[i] === null) continue;
				const x = u.valToPos(u.data[0][i], "x", true);
				if (!at || Math.abs(x - wanted) < Math.abs(at.x - wanted)) at = { x, y: u.valToPos(s.values[i], "y", true) - 4 * px };
			}
			if (!at) return;
			u.ctx.fillStyle = colour(s.class);
			u.ctx.strokeText(s.label, at.x, at.y);
			u.ctx.fillText(s.label, at.x, at.y);
		});
		u.ctx.restore();
	}

	// nearMark shows the event at the cursor.
	function nearMark(u) {
		const near = line.marks.filter((m) => Math.abs(u.valToPos(m.at, "x") - u.cursor.left) < 7);
		const shown = u.cursor.left < 0 ? [] : near;
		u.event.textContent = shown.map((m) => `${m.number} ▸ ${duration(m.at)} ${m.text}`).join(" · ");
		u.event.title = u.event.textContent;
	}

	// looks is how a line looks in the legend.
	const looks = (s) => (!s || !s.dash ? "solid" : s.dash[0] < 4 ? "dotted" : "dashed");

	// make returns a live chart in the place of a figure.
	function make(id, unit, log, options, values) {
		const figure = document.getElementById(id);
		const place = figure.querySelector(".plot");
		const timed = options.timed;
		const size = () => ({ width: Math.max(place.clientWidth, 200), height: 232 });
		place.textContent = "";
		const u = new uPlot({
			...size(),
			padding: [14, timed ? 10 : 30, 0, 0],
			cursor: {
				y: Boolean(options.both),
				drag: { setScale: false, x: timed, y: false },
				points: { size: 6 },
				sync: timed ? { key: "time", scales: ["x", null], filters: { pub: (type) => type === "mousemove" || type === "mouseleave", sub: () => true } } : undefined,
				bind: { dblclick: () => () => timed && zoom(line.from, line.to) },
			},
			scales: {
				x: timed ? { time: false, range: () => [view.min, view.max] } : { time: false, distr: 3, range: (u, lo, hi) => [lo, hi] },
				y: { distr: log ? 3 : 1, range: options.range },
			},
			axes: [
				{ ...axis(options.xUnit, !timed), space: 56, size: 26 },
				{ ...axis(unit, log), size: 54, space: 34 },
			],
			series: [{ label: timed ? "at" : "percentile", value: (u, v) => (v === null ? "–" : units[options.xUnit].text(v)) }, ...options.series],
			legend: { markers: { width: 2, fill: "transparent", dash: (u, i) => looks(options.series[i - 1]), stroke: (u, i) => (i ? options.series[i - 1].stroke : "transparent") } },
			hooks: {
				drawClear: [...(timed ? [drawBands] : []), ...(options.behind || [])],
				draw: [...(timed ? [drawMarks] : []), ...(options.before || [])],
				setCursor: timed ? [nearMark] : [],
				setSelect: [(u) => {
					if (u.select.width < 4) return;
					zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
					u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
				}],
			},
		}, values, place);
		u.timed = timed;
		u.over.addEventListener("mouseenter", () => (hovered = u));
		u.event = document.createElement("div");
		u.event.className = "event muted";
		if (timed) place.append(u.event);
		u.resized = new ResizeObserver(() => u.setSize(size()));
		u.resized.observe(place);
		live.push(u);
		return u;
	}

	function makeChart(chart) {
		const range = chart.log
			? (u, lo, hi) => decades(lo, hi)
			: (u, lo, hi) => [0, roundUp((hi || 0) * 1.05)];
		const text = units[chart.unit].text;
		const series = chart.series.map((s) => ({
			label: s.name, stroke: colour(s.class), width: 1.6, dash: s.dash,
			fill: s.fill ? `color-mix(in srgb, ${colour(s.class)} 18%, transparent)` : undefined,
			points: { show: chart.x.length < 3 },
			value: (u, v) => (v === null || v === undefined ? "–" : text(v)),
		}));
		make(chart.id, chart.unit, chart.log, { timed: chart.xUnit === "time", xUnit: chart.xUnit, range, series, before: [(u) => drawLabels(u, chart.series)] }, [chart.x, ...chart.series.map((s) => s.values)]);
	}

	// makeHeat draws a map as a chart without lines. Each column is start, end, first bin and counts.
	function makeHeat(id, heat, columns) {
		const start = (bin) => 1e-6 * 10 ** (bin / heat.perDecade);
		const seconds = (c) => Math.max(c[1] - c[0], 0.5);
		const share = (v) => (0.75 * Math.log1p(v)) / Math.log1p(heat.top) + (0.25 * v) / heat.top;
		const draw = (u) => {
			const ramp = [];
			for (let i = 0; i < 13; i++) ramp.push(colour("heat" + i));
			document.querySelectorAll(".ramp rect").forEach((r, i) => r.setAttribute("fill", `var(--heat${i % 13})`));
			const { left, width } = u.bbox;
			u.ctx.save();
			for (const c of columns) {
				const from = Math.max(u.valToPos(c[0], "x", true), left);
				const to = Math.min(u.valToPos(c[1], "x", true), left + width);
				if (to <= from) continue;
				for (let i = 3; i < c.length; i++) {
					if (!c[i]) continue;
					const bin = c[2] + i - 3;
					const low = u.valToPos(start(bin), "y", true);
					const high = u.valToPos(start(bin + 1), "y", true);
					u.ctx.fillStyle = ramp[Math.min(Math.floor(share(c[i] / seconds(c)) * 12), 12)];
					u.ctx.fillRect(Math.floor(from), Math.floor(high), Math.ceil(to) - Math.floor(from), Math.ceil(low) - Math.floor(high));
				}
			}
			u.ctx.restore();
		};
		const cell = (u, v, si, i) => {
			if (i === null || i === undefined) return "–";
			const c = columns[i];
			const at = u === hovered ? u.posToVal(u.cursor.top, "y") : NaN;
			const bin = Math.floor(Math.log10(at / 1e-6) * heat.perDecade);
			const n = c[3 + bin - c[2]] || 0;
			const all = c.slice(3).reduce((a, b) => a + b, 0);
			if (Number.isNaN(bin)) return `${all.toLocaleString("en")} records`;
			return `${n.toLocaleString("en")} of ${all.toLocaleString("en")} took ${duration(start(bin))} to ${duration(start(bin + 1))}`;
		};
		make(id, "latency", true, {
			timed: true, both: true, xUnit: "time", range: () => [heat.min, heat.max], behind: [draw],
			series: [{ label: "records", value: cell, paths: () => null, points: { show: false }, stroke: colour("heat9") }],
		}, [columns.map((c) => (c[0] + c[1]) / 2), columns.map(() => null)]);
	}

	// The run in the page

	async function readRun() {
		if (!document.getElementById("run")) return null;
		const run = JSON.parse(await unpack("run"));
		run.heat = run.heat.map((c) => [c.start_ns / 1e9, c.end_ns / 1e9, 0, ...c.counts]);
		return run;
	}

	// The page

	function heats(run) {
		if (run) for (const c of data.charts) if (c.heat) makeHeat(c.id, c.heat, run.heat);
	}

	function build(run) {
		for (const u of live.splice(0)) {
			u.resized.disconnect();
			u.destroy();
		}
		data.charts.filter((c) => !c.heat).forEach(makeChart);
		heats(run);
	}

	const dark = matchMedia("(prefers-color-scheme: dark)");

	function listen(run) {
		dark.addEventListener("change", () => build(run));
		document.addEventListener("click", (e) => {
			const button = e.target.closest("button");
			if (!button) return;
			const { zoom: step, copy, schemeToggle } = button.dataset;
			if (step && line) ({ in: steps["+"], out: steps["-"], reset: steps[0] })[step]();
			if (copy) copyText(button, document.getElementById(copy).textContent);
			if (schemeToggle !== undefined) {
				const was = root.dataset.scheme || (dark.matches ? "dark" : "light");
				root.dataset.scheme = was === "dark" ? "light" : "dark";
				build(run);
			}
		});
		document.addEventListener("keydown", (e) => {
			if (!line || !e.target.classList.contains("plot") || !steps[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
			e.preventDefault();
			steps[e.key]();
		});
	}

	// copyText copies a text; where the clipboard may not be used, it selects it.
	async function copyText(button, text) {
		try {
			await navigator.clipboard.writeText(text);
			button.textContent = "Copied";
		} catch {
			getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
			button.textContent = "Selected";
		}
		setTimeout(() => (button.textContent = "Copy"), 1500);
	}

	root.classList.add("js");
	build(null);
	readRun().catch(() => null).then((run) => {
		for (const c of data.charts) if (c.heat) document.getElementById(c.id).classList.toggle("picture", !run);
		heats(run);
		listen(run);
		root.classList.add("ready");
	});
})();
