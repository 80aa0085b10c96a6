"""How late may an emulator be before its results are wrong: measured, by making it late.

Transfers whose results are known run through an emulator that is stopped (SIGSTOP) for known times,
beside undisturbed twins. Every link tells how late its packets were; the transfers tell what that
did to them; so each rule by which a repetition could be discarded has a precision and a recall.

- `cases`: the links and transfers, the disturbances, and the order of all trials;
- `pauses`: the process that stops the emulator;
- `trial`: one run of a group of links side by side, as one row of results;
- `measures`: how late the packets of a link were, from the ledger;
- `effects`: what a disturbance did to a transfer, against its twins;
- `rules`: the candidates, their best thresholds, their precision and recall;
- `page`, `command`: its page, and the command that makes it.

Bias: only the emulator stands still. While a whole machine is held up, senders, receivers and the
clock of the kernel that stamps packets stand still as well, which hides a part of the harm; and a
stopped emulator leaves its processor to the others.
"""
