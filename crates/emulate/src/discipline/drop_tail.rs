//! Drop-tail: the limit alone drops packets, and without a limit nothing does.

use super::{Discipline, Setting};
use crate::{EmulateError, Fate, QueueDescription};

#[derive(Debug, Clone)]
struct DropTail;

/// Nothing when the description is one of another discipline.
pub(super) fn make(setting: &Setting<'_>) -> Result<Option<Box<dyn Discipline>>, EmulateError> {
    match setting.description {
        QueueDescription::DropTail { limit_packets: None, limit_bytes: None } => {
            Err(EmulateError::NoLimit { location: format!("{}: queue", setting.location) })
        }
        QueueDescription::DropTail { .. } | QueueDescription::Unlimited {} => {
            Ok(Some(Box::new(DropTail)))
        }
        _ => Ok(None),
    }
}

impl Discipline for DropTail {
    fn fate(&self) -> Fate {
        Fate::QueueFull
    }

    fn boxed(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}
