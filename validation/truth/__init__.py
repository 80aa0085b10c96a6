"""The benchmark of our honesty.

Transfers whose limiting cause is known because it was made, judged as anybody's would be.

The parts, in the order in which a transfer meets them:

- `families`, `networks`: the undisturbed networks that everything happens on, in families, and what
  limits a transfer there;
- `kinds`, `disturbances`, `writers`, `programs`: the kinds of disturbance and which verdicts are
  right for each (the table in docs/validation.md), their doses, and how they are written into a
  scenario;
- `pools`, `plan`: which networks there are and which transfers are made, in which order, all of it
  decided by one seed;
- `calm`, `progress`: waiting for a machine that is taken by others, and how far a run is;
- `scenario`, `carry`, `measured`, `store`: a transfer made by `trustbed run`'s own parts, its
  captures turned into rows, the rows stored;
- `labels`: the true cause of a transfer, given its disturbance and what that cost against its
  undisturbed twin;
- `judged`: the verdicts on the stored rows; computed again whenever the rules have changed;
- `kernel_steps`: the sending kernel's counters every 10 ms beside the phases of its capture;
- `score`, `intervals`, `calibration`, `kernel`: how often they are right, and how sure of it one
  can be;
- `looks`, `published`: every look at the half that is reported, and the rows that were scored;
- `text`, `page`, `pictures`, `command`: the result, shown.

Bias: a disturbance that cannot be made on this machine is reported as not made and counts for
nothing. Rules may be developed on transfers of one half of the families only; what the page states
is of the other.
"""
