"""The two ends of a connection with requests and responses, on the loopback interface."""

from __future__ import annotations

import threading
import time

import pytest

from validation.truth.programs import answer, ask


def test_a_server_answers_every_request_and_both_sides_think(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listener = answer.listen(0, "cubic")
    port = listener.getsockname()[1]

    def serve() -> None:
        connection, _ = listener.accept()
        answer.serve(connection, bytes(50_000), 0.02)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    begin = time.monotonic()
    ask.main(["127.0.0.1", str(port), "30", "0.2"])
    seconds = time.monotonic() - begin
    answers = int(capsys.readouterr().out.split()[0])
    assert answers >= 1
    assert seconds >= 0.05 * answers, "20 ms of the server and 30 ms of the client each"
    server.join(timeout=10)
    assert not server.is_alive(), "it ends with its client"
    listener.close()
