// Hides the rows of the table below that have none of the words that are looked for, which
// are found with accents and without, and so are letters that no accent is taken from.
const letters = { "ł": "l", "ø": "o", "đ": "d", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe" };
const plain = (text) =>
  text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase()
    .replace(/[łøđıßæœ]/g, (letter) => letters[letter]);
document.querySelectorAll(".search").forEach((form) => {
  const field = form.querySelector("input");
  const told = form.querySelector("output");
  const table = document.getElementById(form.dataset.table);
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("input", () => {
    const words = plain(field.value).split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = plain(row.textContent);
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    told.textContent = words.length ? `${shown} found` : "";
  });
});
