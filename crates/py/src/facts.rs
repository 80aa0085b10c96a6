//! Facts about the capture as Python dictionaries.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trustbed_capture::{CaptureFacts, FileFacts, InterfaceFacts};

use crate::outcome::Totals;
use crate::run::Passed;

/// The `capture` dictionary.
pub(crate) fn capture<'py>(
    py: Python<'py>,
    facts: &CaptureFacts,
    passed: &Passed,
    totals: &Totals,
    deduplicated: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = reading(py, facts)?;
    clock(&dict, passed)?;
    dict.set_item("tcp_connections", totals.tcp)?;
    dict.set_item("udp_flows", totals.udp)?;
    dict.set_item("offloaded_connections", totals.offloaded)?;
    dict.set_item("one_sided_connections", totals.one_sided)?;
    dict.set_item("midstream_connections", totals.midstream)?;
    dict.set_item("evicted_connections", passed.tables.evicted)?;
    dict.set_item("capture_duplicates", totals.duplicates)?;
    dict.set_item("deduplicated", deduplicated)?;
    dict.set_item("acked_unseen_bytes", totals.acked_unseen)?;
    dict.set_item("unique_bytes", totals.unique)?;
    dict.set_item("wild_seq", totals.wild)?;
    dict.set_item("ignored_holes", totals.forgotten_holes)?;
    Ok(dict)
}

/// What the files state, whatever is done with their records.
pub(crate) fn reading<'py>(py: Python<'py>, facts: &CaptureFacts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let files = facts.files.iter().map(|f| file(py, f)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("files", PyList::new(py, files)?)?;
    dict.set_item("records", facts.files.iter().map(|f| f.records).sum::<u64>())?;
    dict.set_item("snapped_records", facts.files.iter().map(|f| f.snapped_records).sum::<u64>())?;
    dict.set_item(
        "records_without_time",
        facts.files.iter().map(|f| f.records_without_time).sum::<u64>(),
    )?;
    let left_out = PyDict::new(py);
    for (code, count) in &facts.problems_left_out {
        left_out.set_item(code, count)?;
    }
    dict.set_item("problems_left_out", left_out)?;
    Ok(dict)
}

#[expect(clippy::cast_precision_loss, reason = "shares of counts")]
fn clock(dict: &Bound<'_, PyDict>, passed: &Passed) -> PyResult<()> {
    let order = &passed.order;
    let any = order.packets > 0;
    let share = |n: u64| any.then(|| n as f64 / order.packets as f64);
    dict.set_item("packets", order.packets)?;
    dict.set_item("first_ns", any.then_some(order.first.0))?;
    dict.set_item("last_ns", any.then_some(order.last.0))?;
    dict.set_item("clock_steps", order.clock_steps)?;
    dict.set_item("clock_step_max_ns", (order.clock_steps > 0).then_some(order.clock_step_most.0))?;
    dict.set_item("clock_step_index", order.clock_step_index)?;
    dict.set_item("reordered_records", order.reordered)?;
    dict.set_item("reorder_max_ns", (order.reordered > 0).then_some(order.reordered_most.0))?;
    dict.set_item("timestamp_granularity_ns", any.then_some(order.granularity.0))?;
    dict.set_item("equal_timestamp_share", share(order.equal))?;
    dict.set_item("bunched_share", share(order.bunched))
}

fn file<'py>(py: Python<'py>, facts: &FileFacts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &facts.name)?;
    dict.set_item("format", facts.format.name())?;
    dict.set_item("compression", facts.compression.name())?;
    dict.set_item("byte_order", facts.byte_order.name())?;
    dict.set_item("bytes", facts.bytes)?;
    dict.set_item("records", facts.records)?;
    dict.set_item("first_ns", facts.first_ts.map(|t| t.0))?;
    dict.set_item("last_ns", facts.last_ts.map(|t| t.0))?;
    dict.set_item("snap_length", facts.snap_length)?;
    dict.set_item("timestamp_resolution_ns", facts.timestamp_resolution.0)?;
    dict.set_item("snapped_records", facts.snapped_records)?;
    dict.set_item("skipped_bytes", facts.skipped_bytes)?;
    dict.set_item("hardware", &facts.hardware)?;
    dict.set_item("os", &facts.os)?;
    dict.set_item("application", &facts.application)?;
    let interfaces =
        facts.interfaces.iter().map(|i| interface(py, i)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("interfaces", PyList::new(py, interfaces)?)?;
    Ok(dict)
}

fn interface<'py>(py: Python<'py>, facts: &InterfaceFacts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &facts.name)?;
    dict.set_item("description", &facts.description)?;
    dict.set_item("hardware", &facts.hardware)?;
    dict.set_item("os", &facts.os)?;
    dict.set_item("link_number", facts.link_number)?;
    dict.set_item("snap_length", facts.snap_length)?;
    dict.set_item("timestamp_resolution_ns", facts.resolution.0)?;
    dict.set_item("records", facts.records)?;
    dict.set_item("received", facts.received)?;
    dict.set_item("dropped", facts.dropped)?;
    dict.set_item("os_dropped", facts.os_dropped)?;
    Ok(dict)
}

/// Packets that a capture does not have although they passed, by the capturer's own count, which
/// may be any number; a pcap file states nothing of them.
pub(crate) fn dropped(facts: &CaptureFacts) -> u64 {
    let interfaces = facts.files.iter().flat_map(|file| &file.interfaces);
    interfaces
        .flat_map(|one| one.dropped.into_iter().chain(one.os_dropped))
        .fold(0, u64::saturating_add)
}

/// The `skips` list: reasons that occurred.
pub(crate) fn skips<'py>(py: Python<'py>, facts: &CaptureFacts) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for skip in facts.skips.iter().filter(|s| s.records > 0) {
        let dict = PyDict::new(py);
        dict.set_item("reason", skip.reason.name())?;
        dict.set_item("records", skip.records)?;
        dict.set_item("first_index", skip.first_index)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// The `problems` list.
pub(crate) fn problems<'py>(py: Python<'py>, facts: &CaptureFacts) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for problem in &facts.problems {
        let dict = PyDict::new(py);
        dict.set_item("code", problem.code)?;
        dict.set_item("file", &problem.file)?;
        dict.set_item("offset", problem.offset)?;
        dict.set_item("record", problem.record)?;
        dict.set_item("detail", &problem.detail)?;
        list.append(dict)?;
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use trustbed_capture::{Input, Reader};
    use trustbed_wire::DecodeOptions;

    use super::*;

    /// A block of pcapng.
    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(12 + body.len()).unwrap().to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    }

    #[test]
    fn counts_of_drops_that_a_file_makes_up_end_at_the_largest_number() {
        let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
        let mut bytes = block(0x0a0d_0d0a, &section);
        for _ in 0..2 {
            bytes.extend(block(1, &[101, 0, 0, 0, 0, 0, 0, 0]));
        }
        for interface in 0..2_u32 {
            let mut body = interface.to_le_bytes().to_vec();
            body.extend([0; 8]);
            for option in [5_u8, 7] {
                body.extend([option, 0, 8, 0]);
                body.extend([0xff; 8]);
            }
            body.extend([0; 4]);
            bytes.extend(block(5, &body));
        }
        let input = Input::Memory { name: "drops".to_owned(), bytes: bytes.into() };
        let mut reader = Reader::open(&[input], DecodeOptions { inner: false }).unwrap();
        while reader.frames(100, |_| ()) {}
        let facts = reader.facts();
        let [first, second] = &facts.files[0].interfaces[..] else { panic!("two interfaces") };
        assert_eq!((first.dropped, second.os_dropped), (Some(u64::MAX), Some(u64::MAX)));
        assert_eq!(dropped(&facts), u64::MAX);
    }
}
