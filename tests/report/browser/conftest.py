"""A browser that shows pages from files and reports everything they ask for."""

from __future__ import annotations

import dataclasses
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver import Chrome

import trustbed
from tests.patience import PATIENCE
from tests.report.campaign_directories import FOUR_DAYS, HOUR, Story, make_campaign
from tests.report.run_directories import make_run
from tests.report.sensitivity_study import study
from tests.store.conftest import lab_store as lab_store
from trustbed.campaign.results import read_model
from trustbed.report.burst import page as burst_page
from trustbed.report.campaign import page as campaign_page
from trustbed.report.sensitivity import page as sensitivity_page
from trustbed.report.store import page as store_page
from trustbed.report.transfer import html
from trustbed.store.questions import causes, hosts, papers
from trustbed.store.store import Store

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

Model = dict[str, Any]
ABOUT = {
    "version": "0.1.0",
    "command": "trustbed report out -o page.html",
    "started": "2026-01-05T00:00:00Z",
}


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
        self.prefer(scheme)
        self.driver.get(page.as_uri())

    def prefer(self, scheme: str) -> None:
        """Asks for the light or the dark scheme."""
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )

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
        """Addresses that pages asked for since the last call.

        Chromium's own pages (a new tab loads its parts while a page of ours is already shown) are
        left out.
        """
        messages = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
            and not message["params"]["documentURL"].startswith("chrome://")
        ]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Headless Chromium; the test is skipped where it or its driver is missing."""
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


@pytest.fixture(scope="session")
def one_capture_file(tmp_path_factory: pytest.TempPathFactory, side_by_side: html.Page) -> Path:
    """The page of the one with losses."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    html.write(path, dataclasses.replace(side_by_side, captures=side_by_side.captures[1:2]))
    return path


@pytest.fixture(scope="session")
def campaign_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two pairs over two days; one host was away."""
    return _campaign(tmp_path_factory.mktemp("campaign"), ("alpha", "beta"), ("epsilon", "zeta"))


@pytest.fixture(scope="session")
def one_pair_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the pair one of whose hosts was away."""
    return _campaign(tmp_path_factory.mktemp("campaign"), ("epsilon", "zeta"))


def _campaign(directory: Path, *pairs: tuple[str, str]) -> Path:
    story = Story(
        pairs=pairs,
        rounds=2 * 288,
        hours=FOUR_DAYS.hours,
        down={"zeta": (30 * HOUR, 37 * HOUR)},
    )
    path = directory / "page.html"
    campaign_page.write(
        path, read_model(make_campaign(directory / "out", story), timeline=True), ABOUT
    )
    return path


@pytest.fixture(scope="session")
def burst_file(
    tmp_path_factory: pytest.TempPathFactory, bursty: Model, paced: Model, uneven: Model
) -> Path:
    """Two captures compared, one of them with two streams."""
    path = tmp_path_factory.mktemp("burst") / "report.html"
    streams = [{**bursty, "name": "10.0.0.1:5201 → 10.0.0.2:40000 tcp"}, {**paced, "name": "in"}]
    about = {
        "version": "0.1.0",
        "command": "trustbed burst timer.pcap uneven.pcapng --each",
        "started": None,
    }
    burst_page.write(path, [{**bursty, "streams": streams}, uneven], about)
    return path


@pytest.fixture(scope="session")
def one_burst_file(tmp_path_factory: pytest.TempPathFactory, bursty: Model) -> Path:
    """One capture of one stream."""
    path = tmp_path_factory.mktemp("burst") / "report.html"
    about = {"version": "0.1.0", "command": "trustbed burst timer.pcap", "started": None}
    burst_page.write(path, [bursty], about)
    return path


@pytest.fixture(scope="session")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of seven cells, one repetition of which must be discarded."""
    directory = tmp_path_factory.mktemp("run")
    path = directory / "report.html"
    trustbed.open_run(make_run(directory / "study").path).report(path)
    return path


@pytest.fixture(scope="session")
def sensitivity_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an application that reacts to one band of time scales."""
    path = tmp_path_factory.mktemp("sensitivity") / "report.html"
    sensitivity_page.write(study(), path, {"version": "0", "command": "trustbed sensitivity"})
    return path


@pytest.fixture(scope="session")
def store_hosts_file(tmp_path_factory: pytest.TempPathFactory, lab_store: Store) -> Path:
    """The page of a host that stalls at certain hours."""
    path = tmp_path_factory.mktemp("store") / "hosts.html"
    store_page.write(path, store_page.hosts(hosts.ask(lab_store), "lab.store", ABOUT))
    return path


@pytest.fixture(scope="session")
def store_causes_file(tmp_path_factory: pytest.TempPathFactory, lab_store: Store) -> Path:
    """The page of three causes, two of which changed."""
    path = tmp_path_factory.mktemp("store") / "causes.html"
    store_page.write(path, store_page.causes(causes.ask(lab_store), "lab.store", ABOUT))
    return path


@pytest.fixture(scope="session")
def store_papers_file(tmp_path_factory: pytest.TempPathFactory, lab_store: Store) -> Path:
    """The page of a run that would not survive review."""
    path = tmp_path_factory.mktemp("store") / "papers.html"
    store_page.write(path, store_page.papers(papers.ask(lab_store), "lab.store", ABOUT))
    return path
