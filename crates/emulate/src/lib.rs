//! Links in virtual time: rate, delay, queue, loss, reordering and duplication, composed into pipes, and pipes into a topology.
//!
//! Nothing here waits. A link is told when a packet comes and answers when it leaves, or why it does not; whoever asks decides what time
//! means: the emulator's clock, a capture's, or a test's. The same seed gives the same answers.
