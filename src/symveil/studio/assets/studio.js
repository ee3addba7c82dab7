// The page's side of the studio: sends what the form says, switches panels, saves pictures.
// Values travel over the page's own WebSocket only; a link carries fields marked data-public, nothing else.
window.studio = (() => {
  const $ = (id) => document.getElementById(id);
  const panelOf = (element) => element.closest("section.panel")?.id.replace("panel-", "");
  const fieldsOf = (panel) => [...document.querySelectorAll(`[data-panel-field="${panel}"]`)];

  // --- the form ---------------------------------------------------------------------------------

  // of a slider the box beside it counts: it also says what lies between the steps
  const boxOf = (field) => document.querySelector(`[data-of="${field.id}"]`);
  const valueOf = (field) => (boxOf(field) ?? field).value;
  const values = (panel) => Object.fromEntries(fieldsOf(panel).map((field) => [field.name, valueOf(field)]));

  const address = (panel) => {
    const told = new URLSearchParams();
    for (const field of fieldsOf(panel)) {
      const usual = field.closest("details") && valueOf(field) === field.dataset.usual;  // further fields: if changed
      if ("public" in field.dataset && !field.closest("[hidden]") && !usual) told.set(field.name, valueOf(field));
    }
    const query = told.toString();
    return `${panel}${query ? `?${query}` : ""}`;
  };

  const showFields = (panel) => {
    const now = values(panel);
    for (const field of document.querySelectorAll(`#panel-${panel} [data-when]`)) {
      field.hidden = !field.dataset.when.split(";").some((way) => way.split("&").every((each) => {
        const [name, allowed] = each.split("=");
        return !(name in now) || allowed.split("|").includes(now[name]);
      }));
    }
  };

  const send = (panel) => {
    showFields(panel);
    history.replaceState(null, "", address(panel));
    emitEvent("studio_form", { panel, values: values(panel) });
  };

  // A form that is longer than the screen sticks by its lower edge: all of it can be reached by scrolling the page.
  const stick = (side) => {
    side.style.setProperty("--side-top", `${Math.floor(window.innerHeight - side.offsetHeight - 16)}px`);
  };
  const lengths = new ResizeObserver((entries) => entries.forEach((entry) => stick(entry.target)));
  const watch = () => document.querySelectorAll(".side").forEach((side) => { lengths.observe(side); stick(side); });
  window.addEventListener("resize", () => document.querySelectorAll(".side").forEach(stick));
  new MutationObserver(watch).observe(document.documentElement, { childList: true, subtree: true });

  // A slider is heard at once and then every 40 ms; typing when it pauses.
  const timers = {};
  const later = (panel, wait) => {
    clearTimeout(timers[panel]?.typing);
    timers[panel] = { ...timers[panel], typing: setTimeout(() => send(panel), wait) };
  };
  const steadily = (panel) => {
    const state = (timers[panel] ??= {});
    if (state.sliding) { state.again = true; return; }
    send(panel);
    state.sliding = setTimeout(() => {
      state.sliding = null;
      if (state.again) { state.again = false; steadily(panel); }
    }, 40);
  };

  document.addEventListener("input", (event) => {
    const field = event.target;
    if (field.dataset.of) {
      if (field.value.trim() !== "" && Number.isFinite(Number(field.value))) $(field.dataset.of).value = field.value;
      later(panelOf(field), 250);
    } else if (field.dataset.panelField && field.type === "range") {
      const box = boxOf(field);
      if (box) box.value = field.value;
      steadily(field.dataset.panelField);
    } else if (field.dataset.panelField && field.type === "text") {
      later(field.dataset.panelField, 300);
    }
  });
  document.addEventListener("change", (event) => {
    const field = event.target;
    if (field.dataset.panelField && field.tagName === "SELECT") send(field.dataset.panelField);
    if (field.type === "file") {
      upload(field, field.files[0]);
      field.value = ""; // a file that was changed on the disk can be chosen again
    }
  });

  // --- files ------------------------------------------------------------------------------------

  const upload = async (input, file) => {
    if (!file) return;
    const panel = panelOf(input), name = $(`${input.id}-name`), before = name.textContent;
    if (!window.socket?.connected) {
      wrong(panel, $(`${input.id}-handle`).name, "the studio has ended, or is not there yet: reload the page");
      return;
    }
    name.textContent = `Reading ${file.name} …`;
    let answer;
    try {
      const response = await fetch("upload", {
        method: "POST",
        body: file,
        headers: { "X-File-Name": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" },
      });
      const text = await response.text();
      answer = response.ok ? JSON.parse(text) : { error: text.startsWith("{") ? JSON.parse(text).error : text };
    } catch {
      answer = { error: "the studio did not take the file: is it still running, and is the file below 16 MiB?" };
    }
    if (answer.error) {
      const handle = $(`${input.id}-handle`);
      name.textContent = before;
      wrong(panel, handle.name, handle.value ? `${answer.error} (${before} is still in use)` : answer.error);
      return;
    }
    name.textContent = answer.name;
    $(`${input.id}-handle`).value = answer.handle;
    send(panel);
  };
  const zone = (event) => event.target.closest?.("[data-drop]");
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.querySelectorAll(".drop.over").forEach((each) => each.classList.remove("over"));
    zone(event)?.classList.add("over");
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault(); // a file dropped beside a zone must not replace the page
    document.querySelectorAll(".drop.over").forEach((each) => each.classList.remove("over"));
    const drop = zone(event);
    if (drop && event.dataTransfer.files.length) upload($(drop.dataset.drop), event.dataTransfer.files[0]);
  });

  // --- errors and progress ------------------------------------------------------------------------

  const fine = (panel) => {
    for (const field of fieldsOf(panel)) {
      field.removeAttribute("aria-invalid");
      boxOf(field)?.removeAttribute("aria-invalid");
      const place = $(`${panel}-${field.name}-error`);
      if (place) { place.hidden = true; place.textContent = ""; }
    }
  };
  const wrong = (panel, name, told) => {
    fine(panel);
    const place = $(`${panel}-${name}-error`);
    if (!place) return;
    place.textContent = told;
    place.hidden = false;
    const field = $(`${panel}-${name}`);
    field?.setAttribute("aria-invalid", "true");
    if (field) boxOf(field)?.setAttribute("aria-invalid", "true");
  };
  // An answer to an earlier form stays to be read, but dimmed ("yes"), and cannot be saved as if it were this one's.
  // Nor can a preliminary one ("soon").
  const stale = (panel, now) => {
    const section = $(`panel-${panel}`);
    section.classList.toggle("stale", now === "yes");
    for (const button of section.querySelectorAll("[data-save], [data-act=json], [data-act=csv], [data-act=html]")) {
      button.disabled = now !== "no";
    }
  };
  const prepared = (panel, done, of) => { $(`panel-${panel}`).dataset.prepared = done === of ? "all" : done; };
  const put = (panel, name, value) => {
    const field = $(`${panel}-${name}`);
    if (field) field.value = value;
  };

  // --- focus ------------------------------------------------------------------------------------------
  // An answer replaces what was on the page, and with it the button that had just been pressed.

  let held = null;
  const signature = (element) => JSON.stringify([element.tagName, element.getAttribute("aria-label"), { ...element.dataset }]);
  document.addEventListener("focusin", (event) => {
    const place = event.target.closest(".answer, .supplement, .status");
    held = place && { element: event.target, place, told: signature(event.target), group: event.target.parentElement.className };
  });
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("button")) held = null;
  });
  const refocus = () => {
    if (!held || held.element.isConnected || (document.activeElement ?? document.body) !== document.body) return;
    const { place, told, group } = held;
    const usable = [...place.querySelectorAll("button:not(:disabled), [tabindex]")];
    const next = usable.find((each) => signature(each) === told)
      ?? usable.find((each) => group && each.parentElement.className === group)
      ?? place.closest(".results");
    next?.focus({ preventScroll: true });
  };
  new MutationObserver(refocus).observe(document.documentElement, { childList: true, subtree: true });

  // --- panels, links, downloads -----------------------------------------------------------------------

  const open = (panel, remember) => {
    for (const section of document.querySelectorAll("section.panel")) section.hidden = section.id !== `panel-${panel}`;
    for (const link of document.querySelectorAll("nav [data-open]")) {
      if (link.dataset.open === panel) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${panel[0].toUpperCase()}${panel.slice(1)} · symveil studio`;
    showFields(panel);
    if (remember) history.pushState(null, "", address(panel));
    emitEvent("studio_open", { panel });
  };
  addEventListener("popstate", () => open(location.pathname.split("/").pop() || "release", false));

  const save = (content, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const picture = (button) => {
    const svg = button.closest("[data-picture]").querySelector("figure svg");
    const text = new XMLSerializer().serializeToString(svg);
    const name = `symveil-${button.dataset.name}`;
    const blob = new Blob([text], { type: "image/svg+xml" });
    if (button.dataset.save === "svg") { save(blob, `${name}.svg`); return; }
    const image = new Image();
    image.onload = () => {
      const box = svg.viewBox.baseVal, canvas = document.createElement("canvas");
      canvas.width = box.width * 2;
      canvas.height = box.height * 2;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((png) => save(png, `${name}.png`), "image/png");
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches(".card figure")) event.target.classList.toggle("zoomed");
  });
  document.addEventListener("click", (event) => {
    const at = (selector) => event.target.closest(selector);
    const plain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.button);
    if (at("[data-open]") && plain) {
      event.preventDefault();
      open(at("[data-open]").dataset.open, true);
    } else if (at("[data-theme-switch]")) {
      const root = document.documentElement;
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("symveil-theme", root.dataset.theme); } catch { /* only this page then */ }
    } else if (at("[data-save]")) {
      picture(at("[data-save]"));
    } else if (at("[data-link]")) {
      const button = at("[data-link]"), link = new URL(address(button.dataset.link), location.href).href;
      const done = (told) => { button.textContent = told; setTimeout(() => { button.textContent = "Copy link"; }, 1500); };
      navigator.clipboard.writeText(link).then(() => done("Copied"), () => prompt("The link:", link));
    } else if (at("[data-act]")) {
      const button = at("[data-act]");
      emitEvent("studio_act", { panel: button.dataset.panel, action: button.dataset.act, value: button.dataset.value ?? "" });
    } else if (at(".card figure")) {
      at(".card figure").classList.toggle("zoomed");
    } else if (at(".skip")) {
      event.preventDefault();
      $("main").focus();
    }
  });

  // --- the end ----------------------------------------------------------------------------------------
  // When the studio has ended, anybody may listen at its port. So a page that has lost its socket does not try again:
  // it would send what is typed to a stranger, and run what it is told from there.

  const end = () => {
    window.socket.io.reconnection(false);
    window.socket.disconnect();
    const notice = $("popup");
    notice.setAttribute("role", "alert");
    notice.textContent = "The studio has ended, or the connection is lost. Nothing is sent any more: start it again, or reload the page.";
  };

  const start = () => {
    if (!$("main") || !window.socket) { requestAnimationFrame(start); return; }
    window.socket.on("disconnect", end);
    for (const section of document.querySelectorAll("section.panel")) showFields(section.id.replace("panel-", ""));
  };
  start();

  return { wrong, fine, stale, prepared, put, open };
})();
