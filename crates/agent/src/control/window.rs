//! Flow control of a stream: how much may be sent before the other side has read more. A command
//! that writes without end neither fills the controller's memory nor blocks the port.

use std::sync::{Condvar, Mutex, PoisonError};

/// What may be in flight of one stream from the beginning.
pub(super) const INITIAL: usize = 256 << 10;

/// The room that is left; or none, without a reader.
#[derive(Debug)]
pub(super) struct Window {
    left: Mutex<Option<usize>>,
    changed: Condvar,
}

impl Window {
    pub(super) fn new() -> Self {
        Self { left: Mutex::new(Some(INITIAL)), changed: Condvar::new() }
    }

    /// Waits until bytes may be sent, at most `most`; none once there is no reader.
    pub(super) fn wait(&self, most: usize) -> Option<usize> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self
            .changed
            .wait_while(left, |left| *left == Some(0))
            .unwrap_or_else(PoisonError::into_inner);
        left.map(|room| room.min(most))
    }

    /// So much was sent. False once there is no reader.
    pub(super) fn spend(&self, sent: usize) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.map(|room| room.saturating_sub(sent));
        left.is_some()
    }

    /// So much more may be sent.
    pub(super) fn widen(&self, more: usize) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.map(|room| room.saturating_add(more));
        self.changed.notify_all();
    }

    /// There is no reader any more.
    pub(super) fn shut(&self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn sent_bytes_fill_the_window_until_they_are_read() {
        let window = Window::new();
        assert_eq!(window.wait(1000), Some(1000));
        assert!(window.spend(INITIAL - 10));
        assert_eq!(window.wait(1000), Some(10));
        window.widen(5);
        assert_eq!(window.wait(1000), Some(15));
    }

    #[test]
    fn a_waiting_writer_wakes_for_room_and_for_the_end() {
        let window = Arc::new(Window::new());
        window.spend(INITIAL);
        let waiting = {
            let window = Arc::clone(&window);
            thread::spawn(move || window.wait(1000))
        };
        window.widen(3);
        assert_eq!(waiting.join().unwrap(), Some(3));
        window.spend(3);
        let waiting = {
            let window = Arc::clone(&window);
            thread::spawn(move || window.wait(1000))
        };
        window.shut();
        assert_eq!(waiting.join().unwrap(), None);
        assert!(!window.spend(1));
    }
}
