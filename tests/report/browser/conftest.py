"""A browser that shows pages from files and reports everything they ask for."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.patience import PATIENCE
from trustbed.report.transfer import html

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # containers run tests as root; the only pages shown are ours
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1280,900",
)
CHARTS_DRAWN = (
    "return [...document.querySelectorAll('.plot')].every(place => place.dataset.drawn === 'done')"
)


class Viewer:
    """One page in a browser, with its console and its requests."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def show(self, page: Path, *, width: int = 1280, scheme: str = "light") -> None:
        """Opens the page at a device's width; forgets messages and requests of earlier pages."""
        self.console()
        self.requests()
        command = self.driver.execute_cdp_cmd
        command(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        command(
            "Emulation.setEmulatedMedia",
            {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        self.driver.get(page.as_uri())

    def run(self, script: str) -> Any:  # noqa: ANN401 - whatever the script returns
        """What a script returns."""
        return self.driver.execute_script(script)

    def draw_all(self) -> None:
        """Scrolls through the page until every chart is drawn."""
        deadline = time.monotonic() + PATIENCE
        while not self.run(CHARTS_DRAWN):
            assert time.monotonic() < deadline, "charts are not drawn"
            self.run(
                "document.querySelector('.plot:not([data-drawn=done])')?.scrollIntoView({behavior: "
                "'instant'})"
            )
            time.sleep(0.05)

    def console(self) -> list[str]:
        """Messages since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses that were asked for since the last call."""
        messages = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Headless Chromium; the test is skipped where it, its driver or selenium is missing."""
    webdriver = pytest.importorskip("selenium.webdriver")
    browser = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    control = shutil.which("chromedriver")
    if browser is None or control is None:
        pytest.skip(
            f"{'chromium' if browser is None else 'chromedriver'} is not installed (Debian: apt "
            "install chromium chromium-driver)"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(executable_path=control)
    )
    started.set_script_timeout(PATIENCE)
    started.set_page_load_timeout(PATIENCE)
    try:
        yield started
    finally:
        started.quit()


@pytest.fixture(scope="session")
def viewer(driver: Chrome) -> Viewer:
    return Viewer(driver)


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory, side_by_side: html.Page) -> Path:
    """The page of three captures, written as users write theirs."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    html.write(path, side_by_side)
    return path
