"""The browser on a server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from selenium.webdriver.common.action_chains import ActionChains

from tests.patience import wait_until
from tests.ui.serving import Client

if TYPE_CHECKING:
    from tests.report.browser.conftest import Viewer

READY = "return [...document.querySelectorAll('.zoom')].every(one => one.dataset.ready == 'done')"


class Page:
    """The browser on the server."""

    def __init__(self, viewer: Viewer, client: Client) -> None:
        self.viewer = viewer
        self.base = f"http://127.0.0.1:{client.server.port}"
        self.token = client.server.token
        viewer.prefer("light")
        self.open(f"/?token={self.token}")
        viewer.console()
        viewer.requests()

    def open(self, path: str) -> None:
        self.viewer.driver.get(f"{self.base}{path}")

    def press(self, *keys: str) -> None:
        ActionChains(self.viewer.driver).send_keys(*keys).perform()

    def run(self, script: str) -> object:
        return self.viewer.run(script)

    @property
    def path(self) -> str:
        return self.viewer.driver.current_url.removeprefix(self.base)

    def at(self, pattern: str) -> None:
        wait_until(lambda: re.search(pattern, self.path), pattern)

    def zoomed(self) -> None:
        wait_until(lambda: self.run(READY), "the packets")

    def close(self) -> None:
        """Neither a complaint in the console nor a request to anybody else."""
        assert self.viewer.console() == []
        foreign = [
            url for url in self.viewer.requests() if not url.startswith((self.base, "data:"))
        ]
        assert foreign == []
