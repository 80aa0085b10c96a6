"""How many answers of each kind were right, and what a score was worth, by place: transfers of odd seeds whose cause was made.

Written by `python -m validation truth --fit` from 62 transfers. Do not edit. How it is used:
:mod:`trustbed.diagnose.calibration`.
"""

from __future__ import annotations

from trustbed.diagnose.calibration import Calibration, Counted, Fitted

CALIBRATION: Calibration = {
    "beside": Fitted(
        curve={
            60: 0.514,
            80: 0.8,
            90: 0.903,
            99: 0.99,
        },
        answers={
            "application_wrote_little": Counted(2, 2),
            "bucket_dropped": Counted(1, 1),
            "bucket_was_empty": Counted(2, 2),
            "burst_then_lower_rate": Counted(2, 2),
            "driver_reset": Counted(1, 1),
            "link_was_full": Counted(13, 14),
            "nothing_came_back": Counted(2, 2),
            "queue_slowed": Counted(5, 6),
            "receiver_shrank_its_window": Counted(3, 3),
            "reordering_slowed": Counted(0, 2),
            "reordering_took_a_part": Counted(1, 1),
            "sender_held_back": Counted(3, 5),
            "window_explains": Counted(21, 21),
        },
    ),
    "beside_with_host": Fitted(
        curve={
            60: 0.575,
            80: 0.843,
            90: 0.928,
            99: 0.99,
        },
        answers={
            "application_wrote_little": Counted(2, 2),
            "bucket_dropped": Counted(1, 1),
            "bucket_was_empty": Counted(2, 2),
            "buffer_was_filled": Counted(2, 2),
            "burst_then_lower_rate": Counted(2, 2),
            "driver_reset": Counted(1, 1),
            "link_was_full": Counted(13, 14),
            "nothing_came_back": Counted(2, 2),
            "queue_slowed": Counted(5, 6),
            "receiver_shrank_its_window": Counted(3, 3),
            "reordering_slowed": Counted(0, 2),
            "reordering_took_a_part": Counted(1, 1),
            "sender_held_back": Counted(3, 3),
            "window_explains": Counted(21, 21),
        },
    ),
    "away": Fitted(
        curve={
            30: 0.257,
            60: 0.7,
            70: 0.847,
            80: 0.847,
            90: 0.979,
            99: 0.99,
        },
        answers={
            "application_wrote_little under estimated_spacing": Counted(6, 6),
            "bucket_dropped under estimated_spacing": Counted(6, 6),
            "bucket_was_empty under estimated_spacing": Counted(1, 1),
            "burst_then_lower_rate": Counted(4, 4),
            "host_stopped under estimated_spacing": Counted(2, 2),
            "link_was_full": Counted(14, 15),
            "loss_slowed under estimated_spacing": Counted(0, 1),
            "nothing_came_back under estimated_spacing": Counted(4, 4),
            "nothing_explains under estimated_spacing": Counted(0, 1),
            "queue_explains under echoed_rtt and estimated_spacing": Counted(0, 1),
            "queue_explains under estimated_spacing": Counted(2, 2),
            "queue_slowed under echoed_rtt and estimated_spacing": Counted(6, 6),
            "queue_slowed under estimated_spacing": Counted(13, 13),
            "receiver_shrank_its_window under estimated_spacing": Counted(5, 5),
            "reordering_slowed under estimated_spacing": Counted(0, 2),
            "reordering_took_a_part under estimated_spacing": Counted(2, 2),
            "sender_held_back under estimated_spacing": Counted(7, 10),
            "window_explains": Counted(43, 43),
        },
    ),
}
