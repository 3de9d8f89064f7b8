(() => {
  "use strict";
  const NARROW_PX = 560;
  const PRINT_PX = 690;
  const holders = [...document.querySelectorAll(".chart")];
  const specs = new Map();

  // On a narrow page the legend takes more lines, and every other day is enough of a tick.
  const fitted = ({ data, layout }, width) => {
    if (width < NARROW_PX) {
      const legendLines = Math.ceil(data.filter((t) => t.showlegend !== false).length / 2);
      layout.height += 18 * legendLines;
      layout.margin = { ...layout.margin, l: 46, r: 6 };
      layout.font = { ...layout.font, size: 10 };
      layout.xaxis.tickvals = layout.xaxis.tickvals.filter((_, i) => i % 2 === 0);
      layout.xaxis.ticktext = layout.xaxis.ticktext.filter((_, i) => i % 2 === 0);
    }
    return { data, layout };
  };

  const draw = (holder, width) => {
    const { data, layout } = fitted(structuredClone(specs.get(holder)), width);
    holder.style.minHeight = `${layout.height}px`;
    layout.width = width;
    layout.autosize = false;
    holder.dataset.width = String(width);
    return Plotly.react(holder, data, layout, { displayModeBar: false, responsive: false, scrollZoom: false });
  };

  const fit = () => holders.forEach((holder) => {
    const width = holder.clientWidth;
    if (width > 0 && String(width) !== holder.dataset.width) draw(holder, width);
  });

  for (const holder of holders) {
    specs.set(holder, JSON.parse(document.getElementById(holder.dataset.figure).textContent));
    draw(holder, holder.clientWidth).then(() => { holder.dataset.drawn = "true"; });
  }
  addEventListener("resize", fit);
  // Paper shows what a screen folds away.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
  addEventListener("beforeprint", () => holders.forEach((holder) => draw(holder, PRINT_PX)));
  addEventListener("afterprint", fit);
})();
