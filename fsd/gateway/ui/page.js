// SPDX-License-Identifier: Apache-2.0
// The dashboard. All that comes from the gateway is shown by textContent, for a program
// may print anything.
"use strict";
(() => {
	const at = (id) => document.getElementById(id);
	const RETRY_MS = 3000;
	const OUTPUT_MS = 1000;
	const SURE_MS = 4000;
	const state = {};
	let skew = 0;    // of the gateway's clock
	let shown = "";  // the sandbox whose output is open
	let opener = null; // the button that opened it
	let sure = null; // the button that was pressed once

	// --- asking

	function headers(more) {
		const key = sessionStorage.getItem("fsd-key");
		return key ? { "X-API-Key": key, ...more } : { ...more };
	}

	async function ask(path, options = {}) {
		const reply = await fetch(path, {
			...options, cache: "no-store", credentials: "omit",
			headers: headers(options.headers),
		});
		if (reply.status === 401)
			askForKey();
		return reply;
	}

	function askForKey() {
		at("wrong").textContent = sessionStorage.getItem("fsd-key")
			? "The key is none of this gateway's." : "";
		at("all").hidden = true;
		at("health").textContent = "";
		if (at("ask").hidden) {
			at("ask").hidden = false;
			at("key").focus();
		}
	}

	async function reason(reply) {
		try {
			return (await reply.json()).message || "HTTP " + reply.status;
		} catch {
			return "HTTP " + reply.status;
		}
	}

	function complain(text) {
		at("problem").hidden = !text;
		at("problem").textContent = text;
	}

	async function change(method, path, what) {
		try {
			const reply = await ask(path, { method, headers: { "X-Fsd-Ui": "1" } });
			complain(reply.ok ? "" : what + ": " + await reason(reply));
		} catch {
			complain(what + ": the gateway does not answer");
		}
	}

	// --- making elements

	function make(tag, text, name) {
		const e = document.createElement(tag);
		if (text !== undefined)
			e.textContent = text;
		if (name)
			e.className = name;
		return e;
	}

	function time(ms) {
		if (ms < 1000)
			return Math.max(0, Math.round(ms)) + " ms";
		const s = ms / 1000;
		if (s < 60)
			return s.toFixed(s < 10 ? 1 : 0) + " s";
		if (s < 3600)
			return Math.floor(s / 60) + " min " + Math.floor(s % 60) + " s";
		if (s < 86400)
			return Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min";
		return Math.floor(s / 86400) + " d " + Math.floor(s % 86400 / 3600) + " h";
	}

	// seconds are enough for what counts on
	const span = (ms) => time(Math.max(0, Math.floor(ms / 1000)) * 1000)
		.replace(/^(\d)\.0 s$/, "$1 s").replace("0 ms", "0 s");

	function size(bytes) {
		const gib = bytes / 1073741824;
		return gib >= 1 ? gib.toFixed(1) + " GiB" : Math.round(bytes / 1048576) + " MiB";
	}

	const now = () => Date.now() + skew;

	// A cell that is said anew each second.
	function counting(cell, since, until) {
		cell.dataset.since = since || "";
		cell.dataset.until = until || "";
		count(cell);
		return cell;
	}

	function count(cell) {
		const { since, until } = cell.dataset;
		cell.textContent = since ? span(now() - since)
			: until ? span(until - now()) : "\u2013";
	}

	// One press arms it, a second one does it.
	function button(text, label, doIt) {
		const b = make("button", text);
		b.type = "button";
		b.setAttribute("aria-label", label);
		b.addEventListener("click", () => {
			if (sure !== b) {
				disarm();
				sure = b;
				b.textContent = "sure?";
				b.classList.add("sure");
				setTimeout(() => sure === b && disarm(), SURE_MS);
				return;
			}
			disarm();
			doIt();
		});
		b.dataset.text = text;
		return b;
	}

	function disarm() {
		if (!sure)
			return;
		sure.textContent = sure.dataset.text;
		sure.classList.remove("sure");
		sure = null;
	}

	// The focus goes to the heading, not to the start of the page.
	function removeRow(row) {
		if (row.contains(document.activeElement))
			row.closest("section").querySelector("h2").focus();
		row.remove();
	}

	// For a page that is too narrow for a head: what is said of a cell there.
	function label(row, body) {
		const heads = body.parentElement.tHead.rows[0].cells;
		[...row.cells].slice(1).forEach((cell, i) => {
			if (!cell.querySelector("button") && cell.textContent)
				cell.dataset.label = heads[i + 1].textContent;
		});
	}

	// Rows are kept by name, so that the focus and an armed button stay where they are.
	function rows(body, items, fill) {
		const old = new Map([...body.children].map((row) => [row.dataset.key, row]));
		const keyOf = (item) => item.name + " " + (item.ended || "");
		const keys = new Set(items.map(keyOf));
		old.forEach((row, key) => keys.has(key) || removeRow(row));
		items.forEach((item, i) => {
			const key = keyOf(item);
			const text = JSON.stringify(item);
			let row = old.get(key);
			if (!row) {
				row = make("tr");
				row.dataset.key = key;
			}
			if (row.dataset.text !== text) {
				row.dataset.text = text;
				fill(row, item);
				label(row, body);
			}
			if (body.children[i] !== row)
				body.insertBefore(row, body.children[i] || null);
		});
	}

	function list(name, items, count, fill) {
		at(name + "-none").hidden = items.length > 0;
		at(name + "-wide").hidden = items.length === 0;
		at(name + "-count").textContent = count;
		rows(at(name), items, fill);
	}

	// New cells; the last one, with its buttons, stays as it is. True: there is none yet.
	function cells(row, ...made) {
		const last = row.lastElementChild;
		[...row.children].slice(0, -1).forEach((cell) => cell.remove());
		if (last)
			last.before(...made);
		else
			row.append(...made, make("td"));
		return !last;
	}

	// --- what is shown

	function named(name) {
		const cell = make("td", name, "name");
		cell.title = name;
		return cell;
	}

	function showTiles() {
		const m = state.machines || {};
		const f = state.figures || {};
		const tiles = [
			["machines running", m.running + " of " + m.most],
			["warm", m.warm + (m.starting ? " + " + m.starting : "")],
			["runs waiting", m.waiting + (m.oldest_wait_s
				? " (" + time(m.oldest_wait_s * 1000) + ")" : "")],
			["memory promised", size(m.promised_bytes)],
			["runs, last hour", f.runs],
			["failures", f.failures],
			["median run", f.runs ? time(f.p50) : "\u2013"],
			["95 % within", f.runs ? time(f.p95) : "\u2013"],
		];
		at("tiles").replaceChildren(...tiles.map(([name, text]) => {
			const tile = make("div");
			tile.append(make("dt", name), make("dd", text));
			return tile;
		}));
	}

	function showJobs() {
		const jobs = state.jobs || [];
		const running = jobs.filter((job) => job.state === "running").length;
		const more = state.more_jobs ? ", " + state.more_jobs + " jobs are not looked at" : "";
		list("jobs", jobs, (jobs.length ? running + " running, " + (jobs.length - running) +
			" waiting" : "") + more, (row, job) => {
			const fresh = cells(row, named(job.name),
				make("td", job.state, job.state === "running" ? "good" : "wait"),
				make("td", job.language || "\u2013"),
				make("td", job.sandbox || "\u2013", "name"),
				counting(make("td", "", "n"), job.since));
			if (fresh)
				row.lastElementChild.append(opens(job.name), button("Kill", "Kill job " + job.name, () =>
					change("POST", "/ui/jobs/" + encodeURIComponent(job.name) +
						"/kill", "job " + job.name)));
		});
	}

	function showSandboxes() {
		const sandboxes = state.sandboxes || [];
		list("sandboxes", sandboxes, sandboxes.length || "", (row, box) => {
			const fresh = cells(row, named(box.id || box.name), make("td", [box.called,
				...Object.entries(box.metadata || {}).map(pair => pair.join("="))].join(" ")),
				make("td", box.state, { busy: "good", lost: "bad" }[box.state]),
				counting(make("td", "", "n"), box.started),
				counting(make("td", "", "n"), 0, box.until),
				make("td", box.memory_mb + " MiB", "n"),
				make("td", box.commands, "n"));
			if (fresh) {
				const look = make("button", "Output");
				look.type = "button";
				look.setAttribute("aria-label", "Output of sandbox " + box.name);
				look.addEventListener("click", () => openOutput(box.name, look));
				row.lastElementChild.append(look, button("End", "End sandbox " + box.name, () =>
					change("DELETE", "/ui/sandboxes/" + encodeURIComponent(box.name),
						"sandbox " + box.name)));
			}
		});
	}

	function showRuns() {
		const runs = state.runs || [];
		list("runs", runs, runs.length || "", (row, run) => {
			const good = run.status === "exited" && run.exit_code === 0;
			const end = good ? "ok" : run.status === "exited"
				? "exit " + run.exit_code : run.status.replace(/_/g, " ");
			const ended = make("td", new Date(run.ended).toLocaleTimeString(), "n");
			ended.title = new Date(run.ended).toString();
			const fresh = cells(row, named(run.name), make("td", run.language || "\u2013"),
				make("td", end, good ? "good" : "bad"),
				make("td", time(run.ms), "n"), make("td", time(run.waited_ms), "n"), ended);
			if (fresh)
				row.lastElementChild.append(opens(run.name));
		});
	}

	function showWalls() {
		const walls = state.walls || [];
		const absent = walls.filter((wall) => wall.state !== "active").length;
		at("walls-count").textContent = walls.length - absent + " active, " + absent + " not";
		at("walls").replaceChildren(...walls.map((wall) => {
			const item = make("li", wall.name + " ");
			item.append(make("span", wall.state, wall.state === "active" ? "good" : "wait"),
				make("small", wall.why));
			return item;
		}));
	}

	function showHealth() {
		const health = state.health || { text: "" };
		at("health").textContent = health.ok ? "healthy" : health.text;
		at("health").className = health.ok ? "good" : "bad";
	}

	const parts = {
		health: showHealth, machines: showTiles, figures: showTiles, jobs: showJobs,
		sandboxes: showSandboxes, runs: showRuns, walls: showWalls,
		problem: () => complain(state.problem),
	};

	function take(data) {
		skew = data.now - Date.now();
		Object.assign(state, data);
		at("ask").hidden = true;
		at("all").hidden = false;
		new Set(Object.keys(data).map((name) => parts[name]))
			.forEach((show) => show && show());
	}

	setInterval(() => document.querySelectorAll("[data-since]").forEach(count), 1000);

	// --- one job

	function opens(name) {
		const b = make("button", "Open");
		b.type = "button";
		b.setAttribute("aria-label", "Open job " + name);
		b.addEventListener("click", () => openJob(name, b));
		return b;
	}

	let jobOpener = null;

	async function openJob(name, button) {
		jobOpener = button;
		at("job-name").textContent = name;
		at("job-parts").replaceChildren();
		at("job").hidden = false;
		at("job-name").focus();
		try {
			const reply = await ask("/ui/jobs/" + encodeURIComponent(name));
			if (at("job-name").textContent !== name)
				return;
			if (!reply.ok) {
				at("job-parts").replaceChildren(make("p", await reason(reply)));
				return;
			}
			showJob(await reply.json());
		} catch {
			at("job-parts").replaceChildren(make("p", "The gateway does not answer."));
		}
	}

	function showJob(job) {
		const parts = ["code", "stdout", "stderr", "error", "log"].filter((name) => job[name]);
		at("job-parts").replaceChildren(...parts.map((name) => {
			const part = make("div");
			const pre = make("pre", job[name]);
			pre.tabIndex = 0;
			const bytes = job[name + "_bytes"];
			part.append(make("p", name + (bytes ? ", " + bytes + " bytes" : "")), pre);
			return part;
		}));
	}

	at("job-close").addEventListener("click", () => {
		at("job").hidden = true;
		if (jobOpener)
			jobOpener.focus();
	});

	// --- the output of one sandbox

	function openOutput(name, button) {
		shown = name;
		opener = button;
		at("output-name").textContent = "Output of " + name;
		at("output-jobs").replaceChildren();
		at("output").hidden = false;
		at("output-name").focus();
		lookAtOutput();
	}

	function stream(box, job, name) {
		const id = job.name + " " + name;
		let pre = [...box.querySelectorAll("pre")].find((e) => e.dataset.id === id);
		if (!job[name + "_bytes"])
			return pre && pre.parentElement.remove();
		if (!pre) {
			const part = make("div");
			pre = make("pre");
			pre.tabIndex = 0;
			pre.dataset.id = id;
			part.append(make("p"), pre);
			box.append(part);
		}
		const follows = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 4;
		pre.previousElementSibling.textContent = job.name + ", " + name + ", " +
			job[name + "_bytes"] + " bytes";
		if (pre.textContent !== job[name])
			pre.textContent = job[name];
		if (follows)
			pre.scrollTop = pre.scrollHeight;
	}

	function showOutput(data) {
		const box = at("output-jobs");
		const names = new Set(data.jobs.map((job) => job.name));
		box.querySelectorAll("pre").forEach((pre) => {
			if (!names.has(pre.dataset.id.split(" ")[0]))
				pre.parentElement.remove();
		});
		data.jobs.forEach((job) => ["stdout", "stderr"].forEach((name) =>
			stream(box, job, name)));
		at("output-name").textContent = "Output of " + data.name + " (" + data.state + ", " +
			data.running + " running)";
	}

	async function lookAtOutput() {
		const name = shown;
		if (!name)
			return;
		try {
			const reply = await ask("/ui/sandboxes/" + encodeURIComponent(name));
			if (name !== shown)
				return;
			if (reply.ok) {
				showOutput(await reply.json());
			} else if (reply.status === 404) {
				at("output-name").textContent = name + " has ended";
				shown = "";
				return;
			}
		} catch { /* the stream says it */ }
		setTimeout(() => name === shown && lookAtOutput(), OUTPUT_MS);
	}

	at("output-close").addEventListener("click", () => {
		shown = "";
		at("output").hidden = true;
		if (opener)
			opener.focus();
	});

	// --- the stream

	function takeEvent(text) {
		const data = text.split("\n").filter((line) => line.startsWith("data: "))
			.map((line) => line.slice(6)).join("\n");
		if (data)
			take(JSON.parse(data));
	}

	async function follow() {
		const reply = await ask("/ui/events");
		if (reply.status === 401)
			return false;
		if (!reply.ok)
			throw new Error(await reason(reply));
		const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
		let text = "";
		at("link").textContent = "live";
		for (;;) {
			const { done, value } = await reader.read();
			if (done)
				throw new Error("the gateway has ended the stream");
			text += value;
			const events = text.split("\n\n");
			text = events.pop();
			events.forEach(takeEvent);
		}
	}

	async function run() {
		try {
			if (!await follow()) {
				at("link").textContent = "";
				return;
			}
		} catch (error) {
			at("link").textContent = "not live: " + (error.message || error) + "; trying again";
		}
		setTimeout(run, RETRY_MS);
	}

	at("ask").addEventListener("submit", (event) => {
		event.preventDefault();
		sessionStorage.setItem("fsd-key", at("key").value.trim());
		at("key").value = "";
		run();
	});

	run();
})();
