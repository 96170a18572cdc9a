"""Pictures of the built site for docs/results/site.md.

    python -m tests.site.screenshots [--output docs/results/site]
"""

import argparse
import io
import tempfile
import time
from pathlib import Path

from PIL import Image

from tests.site.browsing import look, opened, served

#: name: page, element at the top, width, theme, height of the window, width of the picture
PICTURES = {
    "front": ("index.html", None, "desktop", "light", 1180, 900),
    "certificate": ("auto_examples/plot_pipeline_certificate.html", "#the-certificate", "desktop",
                    "dark", 1000, 900),
    "phone": ("auto_examples/plot_shape_functions.html", "#two-budgets", "phone", "light", 1100,
              390),
}


def main():
    """Write the pictures, in few colors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/results/site"))
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile, served() as site, opened(profile) as browser:
        for name, (page, top, width, theme, high, wide) in PICTURES.items():
            look(browser, width, theme, high=high)
            browser.get(f"{site}/{page}")
            if top:
                browser.execute_script("document.querySelector(arguments[0]).scrollIntoView();"
                                       "window.scrollBy(0, -24)", top)
            time.sleep(1)
            picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
            picture = picture.resize((wide, round(picture.height * wide / picture.width)),
                                     Image.Resampling.LANCZOS)
            picture = picture.quantize(256, Image.Quantize.FASTOCTREE)
            picture.save(output / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
