// Marks wide pictures, which site.css lets scroll on phones instead of shrinking them.
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll(".bd-article img")) {
    const mark = () => {
      const [width, height] = [image.naturalWidth, image.naturalHeight];
      image.classList.toggle("wide", width > 600 && width > 1.7 * height);
    };
    image.complete ? mark() : image.addEventListener("load", mark);
  }
});
