//! Summing a transfer up: from what was measured to the columns of its row.

use trustbed_flow::{Connection, Handshake};
use trustbed_units::Span;

use crate::capture_point::{At, Location};
use crate::series::{FAR, Series};
use crate::transfer_row::{Charts, Times, Trail, TransferRow};
use crate::{Floor, Options, Path, SenderView, Transfer, Whole};

/// A transfer of less than this many bytes is not judged.
pub(crate) const LEAST_BYTES: u64 = 64_000;
/// A transfer of fewer round trips is not judged.
const LEAST_ROUND_TRIPS: f64 = 10.0;
/// Segments of the initial congestion window (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0;
/// A response is idle time with open window above this multiple of the packet period, and of the
/// packet time at the measured rate.
const IDLE_OPEN_WINDOW_PERIODS: f64 = 4.0;
/// … and above this many nanoseconds.
const IDLE_OPEN_WINDOW_LEAST: f64 = 1e6;
/// The smallest time from the capture to the sender and back.
fn nearest(echo: &crate::Distribution, opening: Option<Span>) -> Span {
    let known = [echo.min().map(Span), opening];
    known.into_iter().flatten().min().unwrap_or(Span::ZERO)
}

/// The longest set-up that counts.
const MINUTE: Span = Span::from_secs(60);
/// Capacity is read from the delivery rate when P10/P90 is at least this …
const STEADY: f64 = 0.9;
/// … and the pipe was full for at least this share …
const FULL: f64 = 0.8;
/// … and the window did not bind: X below this share of X₁.
const NOT_WINDOW_BOUND: f64 = 0.8;

impl TransferRow {
    /// Sums a transfer up.
    pub(crate) fn of(
        connection: &Connection<Transfer>,
        direction: usize,
        mut transfer: Box<Transfer>,
        location: &Location,
        options: Options,
    ) -> (Box<Self>, Option<Trail>) {
        let stream = &connection.streams[direction];
        let by_initiator = direction == connection.initiator_direction();
        let at = location.at(by_initiator);
        transfer.silences.on_end(connection.last, stream.outstanding() > 0);
        transfer.answers.on_end(connection.last);
        let mut row = Box::new(Self::counted(connection, direction, &transfer));
        (row.at, row.at_source) = (at, location.source);
        let duration = row.duration.filter(|d| *d > Span::ZERO);
        row.timed(&mut transfer, at);
        row.lost(&transfer, at, duration);
        if let Some(duration) = duration {
            row.windows(&transfer, duration);
            row.bound(&mut transfer, duration, at, options.capacity);
            let view = match at {
                At::Sender | At::Unknown => Some(&mut transfer.near),
                At::Receiver | At::Middle => transfer
                    .far
                    .as_deref_mut()
                    .filter(|_| row.rtt_base.is_some())
                    .map(|f| &mut f.view),
            };
            row.spacing_estimated = !matches!(at, At::Sender | At::Unknown);
            if let Some(view) = view {
                row.seen_by_sender(view, duration);
            }
            row.judgeable(duration);
            if !row.too_short {
                row.shaped(&mut transfer, duration, at);
                row.accounted(&connection.handshake, stream.has_fin(), &mut transfer, duration);
            }
        } else {
            row.too_short = true;
        }
        row.exchanged(&mut transfer);
        let trail = row.trail(&transfer);
        row.charts = transfer.series.take().map(|series| Box::new(charts(*series, &mut transfer)));
        (row, trail)
    }

    /// Its units of data.
    fn exchanged(&mut self, transfer: &mut Transfer) {
        let exchanges = std::mem::take(&mut transfer.exchanges);
        self.crossed = exchanges.crossed;
        self.last_new = exchanges.last();
        self.exchanges_more = exchanges.more;
        (self.exchanges, self.quiet) = exchanges.into_parts();
        self.packet_pairs = transfer.packet_pairs.take();
    }

    /// Everything that was only counted.
    fn counted(connection: &Connection<Transfer>, direction: usize, transfer: &Transfer) -> Self {
        let (stream, peer) = (&connection.streams[direction], &connection.streams[1 - direction]);
        let mss = if stream.seen.mss_known { stream.mss() } else { transfer.usual_size().max(1) };
        let end = transfer.last_ack.map(|(t, _)| t);
        Self {
            id: transfer.id,
            source: connection.key.source(direction),
            destination: connection.key.source(1 - direction),
            ipv6: connection.ipv6,
            start: transfer.start,
            duration: end.map(|end| end - transfer.start),
            counters: stream.counters,
            segments_wire: transfer.segments_wire,
            zero_window_events: transfer.window.zero().1,
            zero_window: transfer.window.zero().0,
            acked_unseen: stream.acknowledged_unseen(),
            mss,
            packet_bytes: mss + u32::from(transfer.headers),
            window_scale: peer.seen.window.then_some(peer.shift),
            window_estimated: peer.seen.window && !peer.seen.scale_known,
            timestamps: stream.seen.timestamps,
            sack: stream.seen.sack && peer.seen.sack,
            multipath: stream.seen.multipath && peer.seen.multipath,
            offloaded: stream.seen.offloaded,
            one_sided: peer.counters.packets == 0,
            midstream: connection.flags.midstream,
            clock_step: connection.flags.clock_step,
            window_min: (peer.window_min != u32::MAX).then_some(peer.window_min),
            window_max: peer.seen.window.then_some(peer.window_max),
            window_first: peer.seen.window.then_some(transfer.window.first()),
            refused: transfer.refused,
            delack_suspects: transfer.delack_suspects,
            loss_events: transfer.losses.events,
            overtaken: transfer.overtaken,
            outage: Span(transfer.silences.outage),
            unanswered: Span(transfer.answers.unanswered),
            interrupted: Span(transfer.answers.interrupted),
            reordering_dupack_series: transfer.answers.late,
            flags: transfer_flags(connection, direction),
            rtt_source: "none",
            ..Self::default()
        }
    }

    /// Round-trip times, by what the capture point allows.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of round trips")]
    fn timed(&mut self, transfer: &mut Transfer, at: At) {
        self.rtt = Times::of(&mut transfer.rtt);
        self.echo = Times::of(&mut transfer.echo);
        let (n, sum, least) = transfer.rtt_timestamp;
        self.rtt_timestamp = (n > 0).then(|| (n, least as f64, sum as f64 / n as f64));
        let here = (self.rtt.min.map(|m| m as f64), self.rtt.mean);
        // The path to the sender: its smallest time is the path's; a mean would hold the sender's
        // own pauses.
        let opening = transfer.opening.map(|rtt| rtt.0 as f64);
        let least = [self.echo.min.map(|m| m as f64), opening];
        let there = (least.into_iter().flatten().min_by(f64::total_cmp), self.echo.p50.or(opening));
        let echoed = if self.echo.count > 0 { "timestamp_echo" } else { "handshake" };
        (self.rtt_base, self.rtt_mean, self.rtt_source) = match at {
            At::Sender | At::Unknown => (here.0, here.1, "acknowledgements"),
            At::Receiver => (there.0, there.1, echoed),
            At::Middle => (plus(here.0, there.0), plus(here.1, there.1), "both_halves"),
        };
        if self.rtt_base.is_none() {
            self.rtt_source = "none";
        }
        if self.rtt.count > 0 && matches!(at, At::Sender | At::Unknown) {
            self.rto = Some(transfer.rto.values());
            self.rto_margin = transfer.rto.margin();
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "shares of counts")]
    fn lost(&mut self, transfer: &Transfer, at: At, duration: Option<Span>) {
        let counters = &self.counters;
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let sent = transfer.segments_wire;
        self.loss_rate = share(transfer.retransmitted_wire, sent);
        self.loss_rate_genuine =
            share(transfer.retransmitted_wire.saturating_sub(transfer.spurious_wire), sent);
        self.loss_bytes = share(counters.retransmitted_bytes, counters.payload);
        self.loss_event_rate = share(u64::from(self.loss_events), sent);
        let upstream = u64::from(counters.lost_upstream.saturating_sub(transfer.overtaken));
        let seen = u64::from(counters.data_packets);
        match at {
            At::Middle | At::Unknown => {
                self.loss_upstream = share(upstream, seen + upstream);
                self.loss_downstream = share(u64::from(counters.retransmitted), seen);
            }
            At::Receiver => self.loss_receiver = share(upstream, seen + upstream),
            At::Sender => {}
        }
        self.loss_persistence = duration.map(|d| transfer.losses.persistence(d));
    }

    fn windows(&mut self, transfer: &Transfer, duration: Span) {
        if self.window_max.is_some() {
            self.window_saturated = Some(transfer.window.saturated(duration).min(1.0));
            self.window_closed = Some(transfer.window.closed(duration).min(1.0));
        }
    }

    /// Throughput, the bounds it is held against, and the delivery rate.
    #[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds as floats")]
    fn bound(&mut self, transfer: &mut Transfer, duration: Span, at: At, capacity: Option<f64>) {
        let acknowledged = transfer.last_ack.map_or(0, |(_, una)| una - transfer.start_offset);
        self.throughput = Some(acknowledged as f64 / duration.as_secs_f64());
        if at == At::Receiver {
            let arriving = transfer.last_new - transfer.start;
            if arriving > Span::ZERO {
                self.throughput = Some(self.counters.unique as f64 / arriving.as_secs_f64());
            }
        }
        self.rates = transfer.delivery.rates(duration);
        self.steadiness = self.rates.and_then(|r| (r.p90 > 0.0).then(|| r.p10 / r.p90));
        let mut path = Path {
            window: self.window_max.map(f64::from),
            payload: f64::from(self.mss),
            packet: f64::from(self.packet_bytes),
            rtt_base: self.rtt_base.map(|r| r / 1e9),
            rtt: self.rtt_mean.map(|r| r / 1e9),
            loss: self.loss_rate_genuine,
            capacity,
        };
        if let (Some(rates), Some(base)) = (self.rates, self.rtt_base) {
            let view = if matches!(at, At::Sender | At::Unknown) {
                Some(&transfer.near)
            } else {
                transfer.far.as_deref().map(|f| &f.view)
            };
            let enough = 0.9 * rates.p90 * base / 1e9;
            self.pipe_full =
                view.map(|v| (v.outstanding.at_least(enough) / duration.as_f64()).min(1.0));
        }
        if capacity.is_some() {
            self.capacity_source = Some("given");
        } else if let (Some(rates), Some(steadiness), Some(full), Some(x), Some(x1)) =
            (self.rates, self.steadiness, self.pipe_full, self.throughput, path.x1())
            && steadiness >= STEADY
            && full >= FULL
            && x < NOT_WINDOW_BOUND * x1
        {
            path.capacity = Some(rates.p90 * path.packet / path.payload);
            self.capacity_source = Some("delivery_rate");
        }
        self.capacity = path.capacity;
        self.packet_period = path.packet_period().map(|s| s * 1e9);
        self.bounds = [path.x0(), path.x1(), path.x2(), path.x3()];
        if let (Some(x1), true) = (path.x1(), acknowledged > 0) {
            self.throughput_gap = Some(duration.as_f64() - acknowledged as f64 / x1 * 1e9);
        }
    }

    /// Spacing, idle time with open window and limiting states, from the sender's view.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds as floats")]
    fn seen_by_sender(&mut self, view: &mut SenderView, duration: Span) {
        let whole = duration.as_f64();
        let share = |part: f64| (part / whole).clamp(0.0, 1.0);
        self.spacing = Times::of(&mut view.spacing);
        self.window_wait = Some(view.window_wait);
        self.recovery_wait = Some(view.recovery_wait);
        self.held_by_network = Some(view.held_by_network);
        self.trains = Some(view.trains);
        self.train_gaps = Some(view.train_gaps);
        self.outstanding_mean = view.outstanding.mean();
        self.outstanding_max = Some(view.outstanding_most() as f64);
        self.rwnd_limited = Some(share(view.window_limited as f64));
        self.window_full = Some(share(view.window_full as f64));
        self.large = self.packet_period.map(|t| view.spacing.above(t).0);
        let Some(base) = self.rtt_base else { return };
        let long_pauses = view.spacing.above(base);
        self.long_pauses = Some(long_pauses);
        self.long_pause_fraction = Some(share(long_pauses.1));
        // Away from the sender the last acknowledgement may still be under way.
        self.empty_fraction = (!self.spacing_estimated).then(|| share(view.empty as f64));
        self.throughput_gap_explained = self
            .throughput_gap
            .filter(|d| *d > 0.05 * whole)
            .map(|throughput_gap| (long_pauses.1 / throughput_gap).clamp(0.0, 1.0));
        let idle = view.idle.above(base).1;
        self.app_limited_fraction = Some(share(idle));
        let (Some(period), Some(x)) = (self.packet_period, self.throughput.filter(|x| *x > 0.0))
        else {
            return;
        };
        let threshold = (IDLE_OPEN_WINDOW_PERIODS * period)
            .max(IDLE_OPEN_WINDOW_PERIODS * f64::from(self.mss) / x * 1e9)
            .max(IDLE_OPEN_WINDOW_LEAST);
        let idle_open_window = view.response.above(threshold);
        self.idle_open_window_threshold = Some(threshold);
        self.idle_open_window = Some(idle_open_window);
        self.idle_open_window_fraction = Some(share(idle_open_window.1));
        // Between two packets of a burst no sender is idle either; the rate of bursts is the
        // delivery rate's, not the mean.
        let fast = self.rates.map_or(x, |rates| rates.p90.max(x));
        let finer = (IDLE_OPEN_WINDOW_PERIODS * period)
            .max(IDLE_OPEN_WINDOW_PERIODS * f64::from(self.mss) / fast * 1e9)
            .max(IDLE_OPEN_WINDOW_LEAST);
        self.idle_open_window_at_rate_fraction = Some(share(view.response.above(finer).1));
    }

    /// What changed over the transfer's time, and what happened just before losses.
    fn shaped(&mut self, transfer: &mut Transfer, duration: Span, at: At) {
        let here = transfer.answers.before_loss.quantile(0.5);
        let there = transfer.answers.before_loss_echo.quantile(0.5);
        let (before_loss, high, floor) = match at {
            At::Sender | At::Unknown => (here, self.rtt.p99, Floor::Here),
            At::Receiver => (there, self.echo.p99, Floor::There),
            At::Middle => {
                let both = transfer.answers.before_loss_between(self.rtt.p50, self.echo.p50);
                (both, plus(self.rtt.p99, self.echo.p99), Floor::Both)
            }
        };
        self.rtt_before_loss = before_loss;
        self.rtt_high = high;
        self.loss_level_rank = transfer.bucket.rank(duration);
        self.policed = transfer.policed();
        self.bend = transfer.profile.bend(duration, floor);
        self.floor_step = transfer.profile.floor_step(duration, floor);
        self.owd_increase = transfer.clock.tick().and_then(|tick| transfer.profile.rise(tick));
        self.window_shrunk = Some(transfer.window.shrunk(duration).clamp(0.0, 1.0));
    }

    /// Where the time went.
    fn accounted(
        &mut self,
        handshake: &Handshake,
        closed: bool,
        transfer: &mut Transfer,
        duration: Span,
    ) {
        let opened = handshake.syn.zip(handshake.ack.or(handshake.syn_ack));
        let opening = opened.map_or(0, |(syn, open)| (open - syn).0.clamp(0, MINUTE.0));
        let whole = Whole {
            handshake: opening,
            end: duration.0.min(FAR),
            base: self.rtt_base,
            mss: f64::from(self.mss),
            known: !matches!(self.at, At::Unknown),
            closed,
        };
        let here = transfer.budget.as_mut().filter(|_| !self.at.is_away());
        let account = if let Some(budget) = here {
            budget.account(&whole)
        } else if let Some(far) = transfer.far.as_deref_mut() {
            far.on_end(self.mss, nearest(&transfer.echo, transfer.opening));
            far.budget.account(&whole)
        } else {
            return;
        };
        self.account = Some(account);
        self.needless = transfer.needless;
        self.ack_silences = (transfer.ack_silences.count, Span(transfer.ack_silences.time));
        self.ack_silences_own = transfer.ack_silences.own;
        transfer.acks_held.on_end();
        self.acks_held = (transfer.acks_held.count, Span(transfer.acks_held.time));
        self.data_held = transfer.acks_held.data;
    }

    fn judgeable(&mut self, duration: Span) {
        let round_trips = self.rtt_mean.filter(|r| *r > 0.0).map(|r| duration.as_f64() / r);
        self.too_short = self.counters.unique < LEAST_BYTES
            || round_trips.is_some_and(|n| n < LEAST_ROUND_TRIPS);
        let window = self.window_max.map(f64::from);
        if let (Some(n), Some(window), Some(rtt)) = (round_trips, window, self.rtt_mean) {
            let pipe = self.bounds[3].map_or(window, |x3| window.min(x3 * rtt / 1e9));
            let needed = (pipe / (INITIAL_WINDOW * f64::from(self.mss))).max(1.0).log2() + 3.0;
            self.slow_start = Some(self.counters.retransmitted == 0 && n < needed);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of a round trip")]
    fn trail(&self, transfer: &Transfer) -> Option<Trail> {
        (!self.too_short).then(|| Trail {
            host: self.source.0,
            transfer: self.id,
            first: transfer.start,
            last: transfer.silences.last().unwrap_or(transfer.last_data),
            silences: transfer.silences.gaps.clone(),
            pauses: transfer.near.pauses.clone(),
            rtt_base: self.rtt_base.map(|r| Span(r as i64)),
        })
    }
}

fn plus(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b?)
}

fn transfer_flags(connection: &Connection<Transfer>, direction: usize) -> Vec<&'static str> {
    let stream = &connection.streams[direction];
    let peer = &connection.streams[1 - direction];
    let all = [
        (connection.flags.midstream, "midstream"),
        (connection.flags.clock_step, "clock_step"),
        (stream.seen.offloaded, "offloaded"),
        (stream.seen.data_after_fin, "data_after_fin"),
        (stream.seen.fragmented, "fragmented"),
        (stream.seen.wild || peer.seen.wild, "wild_seq"),
        (peer.counters.packets == 0, "one_sided"),
        (stream.records.forgotten > 0, "records_forgotten"),
        (stream.acknowledges_unseen(), "capture_loss"),
    ];
    all.into_iter().filter_map(|(set, name)| set.then_some(name)).collect()
}

fn charts(series: Series, transfer: &mut Transfer) -> Charts {
    const POINTS: usize = 200;
    Charts {
        series,
        rtt: transfer.rtt.cumulative(POINTS),
        spacing: transfer.near.spacing.cumulative(POINTS),
        response: transfer.near.response.cumulative(POINTS),
    }
}

impl Times {
    fn of(d: &mut crate::Distribution) -> Self {
        Self {
            count: d.count(),
            min: d.min(),
            mean: d.mean(),
            deviation: d.deviation(),
            p50: d.quantile(0.5),
            p90: d.quantile(0.9),
            p99: d.quantile(0.99),
            max: d.max(),
        }
    }
}
