//! The rows and points of one transfer that its charts and tables of samples draw.

use trustbed_flow::{Ack, Class, RttOutcome, Segment, Sight};

use super::{Rows, Transfer};
use crate::samples::{RttKind, RttRow, SegmentRow, SpacingRow};
use crate::series::{Series, since};
use crate::{Category, Drawn, Stroke, Turn};

impl Transfer {
    pub(super) fn draw_rtt(&mut self, ack: &Ack, delack_suspect: bool, rows: Rows<'_>) {
        let values = self.rto.values();
        let RttOutcome::Sample { rtt, .. } = ack.rtt else { return };
        if let Some(series) = &mut self.series {
            let at = since(self.start, ack.now);
            series.rtt.add(at, rtt.as_secs_f64(), 0.0);
            series.rto.add(at, values.raw / 1e9, values.linux / 1e9);
        }
        if let Some(rows) = rows {
            let (index, transfer, ts) = (ack.index, self.id, ack.now);
            rows.rtt.push(RttRow {
                index,
                transfer,
                ts,
                rtt,
                kind: RttKind::Ack,
                delack_suspect,
                rto: Some(values),
            });
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "offsets for a chart")]
    pub(super) fn draw_data(
        &mut self,
        sight: &Sight<'_>,
        segment: &Segment,
        turn: Option<Turn>,
        rows: Rows<'_>,
    ) {
        let window = sight.peer.window;
        let (index, transfer, ts) = (segment.index, self.id, segment.now);
        if let Some(series) = &mut self.series {
            let at = since(self.start, ts);
            let low = (segment.start - self.start_offset) as f64;
            let high = (segment.end() - self.start_offset) as f64;
            match segment.class {
                Class::Retransmission => series.retransmissions.add(at, low, high),
                Class::Fill => series.fills.add(at, low, high),
                _ => series.new.add(at, high, low),
            }
            series.outstanding.add(at, segment.outstanding as f64, f64::from(window));
            series.stretches.on_segment(
                Drawn {
                    since: at,
                    low: segment.start - self.start_offset,
                    high: segment.end() - self.start_offset,
                    stroke: match segment.class {
                        Class::Retransmission => Stroke::Retransmission,
                        Class::Fill => Stroke::Fill,
                        _ => Stroke::New,
                    },
                    response: turn
                        .filter(|t| t.category != Category::RecoveryWait)
                        .and_then(|t| t.response),
                },
                self.rto.srtt(),
            );
            if let Some(turn) = turn {
                let category = Series::category(turn.category);
                if let Some(spacing) = turn.spacing {
                    series.spacing.add(at, spacing.as_secs_f64(), category);
                }
                if let Some(response) = turn.response {
                    series.response.add(at, response.as_secs_f64(), category);
                }
            }
        }
        let Some(rows) = rows else { return };
        rows.segments.push(SegmentRow {
            index,
            transfer,
            ts,
            offset: segment.start,
            length: segment.length,
            overlap: segment.overlap,
            class: segment.class,
            cause: segment.cause,
            outstanding: segment.outstanding,
            window,
        });
        let (spacing, response, category, empty) = turn.map_or((None, None, None, false), |t| {
            (t.spacing, t.response, Some(t.category), t.empty)
        });
        rows.spacing.push(SpacingRow { index, transfer, ts, spacing, response, category, empty });
    }
}
