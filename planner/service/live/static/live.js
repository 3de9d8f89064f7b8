(() => {
  "use strict";
  const QUIET_MS = 150;
  const program = document.currentScript;
  const told = document.getElementById("told");
  let plotly = null;

  // Text and tables are there first; Plotly, the largest part by far, comes when the browser has nothing else to do.
  const withPlotly = () => {
    plotly ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = program.dataset.plotly;
      script.onload = done;
      script.onerror = failed;
      document.head.append(script);
    });
    return plotly;
  };

  const draw = (holder) => {
    const spec = JSON.parse(document.getElementById(holder.dataset.figure).textContent);
    spec.layout.width = holder.clientWidth;
    spec.layout.autosize = false;
    holder.dataset.width = String(holder.clientWidth);
    return Plotly.react(holder, spec.data, spec.layout, { displayModeBar: false, responsive: false, scrollZoom: false })
      .then(() => { holder.dataset.drawn = "true"; });
  };

  const drawAll = () => {
    const holders = [...document.querySelectorAll(".chart")];
    if (holders.length) withPlotly().then(() => holders.forEach(draw)).catch(() => { told.textContent = "The figures cannot be loaded; all numbers stand in the tables."; });
  };

  // What a person is writing, or steers by keys, is not taken away under the hands.
  const isBusy = () => {
    const active = document.activeElement;
    return active !== null && active.closest("form") !== null && active.id !== "slider" && (active.value ?? "") !== "" && active.tagName === "INPUT";
  };

  let asked = 0;
  const show = async (address) => {
    const mine = ++asked;
    const focus = document.activeElement?.id;
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    if (!answer.ok || mine !== asked) return;
    if (answer.redirected && new URL(answer.url).pathname === "/login") { location.assign("/login"); return; }
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asked) return;
    document.querySelector("main").replaceWith(fresh.querySelector("main"));
    document.querySelector("nav").replaceWith(fresh.querySelector("nav"));
    begin();
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  };

  const slide = () => {
    const slider = document.getElementById("slider");
    const choice = document.getElementById("at");
    if (!slider || !choice) return;
    slider.hidden = false;
    let waiting = 0;
    const go = () => {
      const address = `/?view=${encodeURIComponent(document.querySelector("main").dataset.view)}&at=${encodeURIComponent(choice.value)}`;
      history.replaceState(null, "", address);
      show(address);
    };
    slider.addEventListener("input", () => {
      choice.selectedIndex = Number(slider.value);
      slider.setAttribute("aria-valuetext", choice.options[choice.selectedIndex].text);
      clearTimeout(waiting);
      waiting = setTimeout(go, QUIET_MS);
    });
    choice.addEventListener("change", () => { slider.value = String(choice.selectedIndex); go(); });
  };

  const begin = () => { slide(); drawAll(); };

  addEventListener("resize", () => {
    if (typeof Plotly === "undefined") return;
    document.querySelectorAll(".chart").forEach((holder) => { if (String(holder.clientWidth) !== holder.dataset.width) draw(holder); });
  });

  const listen = () => {
    const changes = new EventSource("/live/changes");
    let first = true;
    changes.onmessage = async (event) => {
      if (first && event.data === "first") { first = false; return; }
      first = false;
      if (isBusy()) return;
      await show(location.href);
      told.textContent = `Brought up to date at ${new Date().toLocaleTimeString()}`;
    };
  };

  begin();
  listen();
})();
