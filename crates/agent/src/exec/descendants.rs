//! The descendants of a process, by the parents in `/proc/PID/stat` (proc(5)).
//!
//! Processes start and end during the scan: it can miss a new one, so it is repeated until it finds
//! none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use rustix::process::Pid;

/// All processes below `ancestor`, those that have ended but were not waited for excepted; in order
/// of their numbers.
pub(super) fn of(ancestor: Pid) -> io::Result<Vec<Pid>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // It may have ended since.
        let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else { continue };
        if let Some(parent) = living_parent(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    Ok(below(ancestor.as_raw_nonzero().get(), &children)
        .into_iter()
        .filter_map(Pid::from_raw)
        .collect())
}

fn below(ancestor: i32, children: &BTreeMap<i32, Vec<i32>>) -> BTreeSet<i32> {
    let (mut found, mut next) = (BTreeSet::new(), vec![ancestor]);
    while let Some(parent) = next.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if found.insert(*child) {
                next.push(*child);
            }
        }
    }
    found
}

/// The parent's number: the second field behind the name, which may itself hold brackets and
/// spaces. None for one that has ended.
fn living_parent(stat: &[u8]) -> Option<i32> {
    let behind = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = std::str::from_utf8(stat.get(behind..)?).ok()?.split_ascii_whitespace();
    if fields.next()? == "Z" { None } else { fields.next()?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_names_may_contain_brackets_and_spaces() {
        assert_eq!(living_parent(b"12 (a) R (b)) S 7 12 12 0"), Some(7));
        assert_eq!(living_parent(b"12 (x) Z 7 12 12 0"), None);
        assert_eq!(living_parent(b"garbage"), None);
    }

    #[test]
    fn grandchildren_are_found_and_other_processes_are_not() {
        let children = BTreeMap::from([(1, vec![2, 9]), (2, vec![3, 4]), (4, vec![5])]);
        assert_eq!(below(2, &children), BTreeSet::from([3, 4, 5]));
        assert_eq!(below(5, &children), BTreeSet::new());
    }
}
