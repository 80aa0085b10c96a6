//! The programs that run in the kernel.
//!
//! `enter` notes in the thread's slot when it entered which call; `leave` puts that, the result and
//! the time into the ring of its processor, or counts it as lost when there is no room. Nobody is
//! woken: the reader looks by itself. `fork` passes the flags of a thread on to what it starts, so
//! that a process tree stays whole; `exec` sets, or clears, them by command name.
//!
//! A return without an entry (the call was entered before the tracing began, or it is the new
//! thread's return from `clone`) is counted apart.

use super::assembler::{
    Assembler, Condition, FRAME, Helper, Instruction, Label, Operation, R0, R1, R2, R3, R6, R7, R8,
    R9, Register, Width,
};
use super::calls::{LAST, MARKER};
use super::maps::{
    ALONE, BLOCK_REQUESTS, CANDIDATE, COUNTS, HEAD, LOST, Maps, PREEMPTIONS, ROW_CALL, ROW_ENTERED,
    ROW_RESULT, ROW_RETURNED, ROW_THREAD, SLOT_CALL, SLOT_ENTERED, SLOT_FIRST, SLOT_FLAGS,
    SWITCHES, TAIL, TRACED,
};
use super::selection::ByName;

/// Places on the stack.
const KEY: i16 = -4;
const ENTERED: i16 = -16;
const RETURNED: i16 = -24;
const RESULT: i16 = -32;
const CALL: i16 = -40;
const PROCESSOR: i16 = -48;
const NAME: i16 = -64;
const FIRST: i16 = -72;

/// The second argument of `sys_enter` (number) and `sys_exit` (result).
const SECOND: i16 = 8;
/// Where the registers of a thread (`struct pt_regs`, the first argument of `sys_enter`) have the
/// first argument of its call: `rdi`, or `x0`.
const FIRST_REGISTER: i32 = if cfg!(target_arch = "x86_64") { 112 } else { 0 };

/// What the programs depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) maps: &'a Maps,
    /// The tracer, of which only markers are recorded.
    pub(super) own: u32,
    /// Whether only threads with the flag are recorded.
    pub(super) filtered: bool,
    /// Whether calls are counted only.
    pub(super) counting: bool,
    /// Whether the first argument of calls is recorded.
    pub(super) descriptors: bool,
}

impl Setting<'_> {
    /// `R0 = the value of a map at the key of the stack`; jumps to `out` if there is none.
    fn look_up(program: &mut Assembler, map: i32, out: Label) {
        program.map(R1, map);
        program.register(Operation::Move, R2, FRAME);
        program.immediate(Operation::Add, R2, KEY.into());
        program.call(Helper::MapLookup);
        program.jump_if(R0, Condition::Equal, 0, out);
    }

    /// Process and thread into R7, the thread's slot into R8. Jumps to `out` if it is not recorded.
    fn thread(&self, program: &mut Assembler, out: Label) {
        self.slot(program, out);
        self.skip_others(program, out);
    }

    /// Process and thread into R7, the thread's slot into R8.
    fn slot(&self, program: &mut Assembler, out: Label) {
        program.call(Helper::ProcessAndThread);
        program.register(Operation::Move, R7, R0);
        program.store(Width::Word, FRAME, KEY, R7);
        Self::look_up(program, self.maps.slots.number(), out);
        program.register(Operation::Move, R8, R0);
    }

    /// Jumps to `out` if the thread whose slot R8 is is not recorded.
    fn skip_others(&self, program: &mut Assembler, out: Label) {
        if self.filtered {
            program.load(Width::Word, R1, R8, SLOT_FLAGS);
            program.immediate(Operation::And, R1, TRACED.cast_signed());
            program.jump_if(R1, Condition::Equal, 0, out);
        }
    }

    /// Jumps if the process of R7 is not the tracer.
    fn jump_if_other(&self, program: &mut Assembler, to: Label) {
        program.register(Operation::Move, R1, R7);
        program.immediate(Operation::ShiftRight, R1, 32);
        program.jump_if(R1, Condition::Different, self.own.cast_signed(), to);
    }

    /// The processor's counters into R8, its number onto the stack.
    fn processor(&self, program: &mut Assembler, out: Label) {
        program.call(Helper::ProcessorNumber);
        program.store(Width::Word, FRAME, KEY, R0);
        program.store(Width::Double, FRAME, PROCESSOR, R0);
        Self::look_up(program, self.maps.control.number(), out);
        program.register(Operation::Move, R8, R0);
    }

    fn increment(program: &mut Assembler, at: Register, field: i16) {
        program.load(Width::Double, R1, at, field);
        program.immediate(Operation::Add, R1, 1);
        program.store(Width::Double, at, field, R1);
    }

    /// For `sys_enter`.
    pub(super) fn enter(&self) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let (out, last) = (program.label(), program.label());
        program.register(Operation::Move, R6, R1);
        self.thread(&mut program, out);
        program.load(Width::Double, R9, R6, SECOND);
        self.only_meant(&mut program, out);
        if self.counting {
            self.count(&mut program, out);
        } else {
            program.store(Width::Word, R8, SLOT_CALL, R9);
            if self.descriptors {
                Self::keep_first_argument(&mut program);
            }
            program.call(Helper::MonotonicTime);
            program.store(Width::Double, R8, SLOT_ENTERED, R0);
            for call in LAST {
                program.jump_if(R9, Condition::Equal, i32::try_from(call).unwrap_or(0), last);
            }
            program.jump(out);
            program.place(last);
            program.store_immediate(Width::Double, R8, SLOT_ENTERED, 0);
            program.store(Width::Double, FRAME, ENTERED, R0);
            program.store(Width::Double, FRAME, RETURNED, R0);
            program.constant(R1, i64::MIN.cast_unsigned());
            program.store(Width::Double, FRAME, RESULT, R1);
            program.store(Width::Double, FRAME, CALL, R9);
            self.emit(&mut program, out);
        }
        program.place(out);
        program.exit();
        program.finish()
    }

    /// The first argument of the call into the slot of R8.
    fn keep_first_argument(program: &mut Assembler) {
        program.load(Width::Double, R3, R6, 0);
        program.immediate(Operation::Add, R3, FIRST_REGISTER);
        program.register(Operation::Move, R1, FRAME);
        program.immediate(Operation::Add, R1, FIRST.into());
        program.immediate(Operation::Move, R2, 8);
        program.call(Helper::ReadKernel);
        program.load(Width::Word, R1, FRAME, FIRST);
        program.store(Width::Word, R8, SLOT_FIRST, R1);
    }

    /// Jumps to `out` for the calls of this tracer but its markers, and for markers of others.
    fn only_meant(&self, program: &mut Assembler, out: Label) {
        let (marker, meant) = (program.label(), program.label());
        program.jump_if(R9, Condition::Equal, MARKER.cast_signed(), marker);
        self.jump_if_other(program, meant);
        program.jump(out);
        program.place(marker);
        self.jump_if_other(program, out);
        program.place(meant);
    }

    /// Counts the call of R9, of its thread and of its number.
    fn count(&self, program: &mut Assembler, out: Label) {
        let known = program.label();
        Self::increment(program, R8, SLOT_ENTERED);
        let beyond = COUNTS.cast_signed() - 1;
        program.jump_if(R9, Condition::Below, beyond, known);
        program.immediate(Operation::Move, R9, beyond);
        program.place(known);
        program.call(Helper::ProcessorNumber);
        program.immediate(Operation::ShiftLeft, R0, COUNTS.trailing_zeros().cast_signed());
        program.register(Operation::Add, R0, R9);
        program.store(Width::Word, FRAME, KEY, R0);
        Self::look_up(program, self.maps.counts.number(), out);
        Self::increment(program, R0, 0);
    }

    /// For `sys_exit`. A call that was entered is recorded: the thread may run another command since.
    pub(super) fn leave(&self) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let (out, alone, other) = (program.label(), program.label(), program.label());
        program.register(Operation::Move, R6, R1);
        self.slot(&mut program, out);
        program.load(Width::Double, R9, R8, SLOT_ENTERED);
        program.jump_if(R9, Condition::Equal, 0, alone);
        program.store_immediate(Width::Double, R8, SLOT_ENTERED, 0);
        program.store(Width::Double, FRAME, ENTERED, R9);
        program.load(Width::Word, R1, R8, SLOT_CALL);
        if self.descriptors {
            program.load(Width::Word, R2, R8, SLOT_FIRST);
            program.immediate(Operation::ShiftLeft, R2, 32);
            program.register(Operation::Add, R1, R2);
        }
        program.store(Width::Double, FRAME, CALL, R1);
        program.load(Width::Double, R1, R6, SECOND);
        program.store(Width::Double, FRAME, RESULT, R1);
        program.call(Helper::MonotonicTime);
        program.store(Width::Double, FRAME, RETURNED, R0);
        self.emit(&mut program, out);
        program.jump(out);
        program.place(alone);
        self.skip_others(&mut program, out);
        self.jump_if_other(&mut program, other);
        program.jump(out);
        program.place(other);
        self.processor(&mut program, out);
        Self::increment(&mut program, R8, ALONE);
        program.place(out);
        program.exit();
        program.finish()
    }

    /// Puts a row into the processor's ring. The head is moved after the row is there; on
    /// processors that reorder stores, behind a barrier.
    fn emit(&self, program: &mut Assembler, out: Label) {
        let rows = self.maps.ring_rows;
        let full = program.label();
        self.processor(program, out);
        program.load(Width::Double, R9, R8, HEAD);
        program.load(Width::Double, R1, R8, TAIL);
        program.register(Operation::Move, R2, R9);
        program.register(Operation::Subtract, R2, R1);
        program.jump_if(R2, Condition::AtLeast, rows.cast_signed(), full);
        program.load(Width::Double, R1, FRAME, PROCESSOR);
        program.immediate(Operation::ShiftLeft, R1, rows.trailing_zeros().cast_signed());
        program.register(Operation::Move, R2, R9);
        program.immediate(Operation::And, R2, rows.cast_signed() - 1);
        program.register(Operation::Add, R1, R2);
        program.store(Width::Word, FRAME, KEY, R1);
        Self::look_up(program, self.maps.ring.number(), out);
        for (from, to) in [
            (ENTERED, ROW_ENTERED),
            (RETURNED, ROW_RETURNED),
            (RESULT, ROW_RESULT),
            (CALL, ROW_CALL),
        ] {
            program.load(Width::Double, R1, FRAME, from);
            program.store(Width::Double, R0, to, R1);
        }
        program.store(Width::Double, R0, ROW_THREAD, R7);
        if cfg!(target_arch = "x86_64") {
            program.immediate(Operation::Add, R9, 1);
            program.store(Width::Double, R8, HEAD, R9);
        } else {
            program.immediate(Operation::Move, R1, 1);
            program.fetch_and_add(R8, HEAD, R1);
        }
        program.jump(out);
        program.place(full);
        Self::increment(program, R8, LOST);
    }

    /// For `sched_process_fork`: the new thread has the flags of its parent, and is in no call.
    pub(super) fn fork(&self, child: i16) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let out = program.label();
        program.load(Width::Word, R6, R1, child);
        program.call(Helper::ProcessAndThread);
        program.store(Width::Word, FRAME, KEY, R0);
        Self::look_up(&mut program, self.maps.slots.number(), out);
        program.load(Width::Word, R9, R0, SLOT_FLAGS);
        program.store(Width::Word, FRAME, KEY, R6);
        Self::look_up(&mut program, self.maps.slots.number(), out);
        program.store(Width::Word, R0, SLOT_FLAGS, R9);
        if !self.counting {
            program.store_immediate(Width::Double, R0, SLOT_ENTERED, 0);
        }
        program.place(out);
        program.exit();
        program.finish()
    }

    /// For `sched_process_exec`. A thread that is not its process's first becomes it, and its call
    /// with it. With a command, whose name the process has now, the flag follows the name.
    pub(super) fn exec(&self, old: i16, command: Option<ByName<'_>>) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let (out, same) = (program.label(), program.label());
        program.load(Width::Word, R6, R1, old);
        self.adopt(&mut program, same, out);
        program.place(same);
        if let Some(command) = command {
            program.call(Helper::ProcessAndThread);
            program.store(Width::Word, FRAME, KEY, R0);
            Self::look_up(&mut program, self.maps.slots.number(), out);
            program.register(Operation::Move, R6, R0);
            Self::flag_by_name(&mut program, command, out);
        }
        program.place(out);
        program.exit();
        program.finish()
    }

    /// Moves the call and the flags of the thread that was R6 to the one that it is now.
    fn adopt(&self, program: &mut Assembler, same: Label, out: Label) {
        program.call(Helper::ProcessAndThread);
        program.register(Operation::Move, R7, R0);
        program.immediate(Operation::ShiftLeft, R0, 32);
        program.immediate(Operation::ShiftRight, R0, 32);
        program.jump_if_both(R0, Condition::Equal, R6, same);
        program.store(Width::Word, FRAME, KEY, R6);
        Self::look_up(program, self.maps.slots.number(), out);
        program.register(Operation::Move, R8, R0);
        program.store(Width::Word, FRAME, KEY, R7);
        Self::look_up(program, self.maps.slots.number(), out);
        program.load(Width::Double, R1, R8, SLOT_CALL);
        program.store(Width::Double, R0, SLOT_CALL, R1);
        if !self.counting {
            program.load(Width::Double, R1, R8, SLOT_ENTERED);
            program.store(Width::Double, R0, SLOT_ENTERED, R1);
            program.store_immediate(Width::Double, R8, SLOT_ENTERED, 0);
        }
    }

    /// Sets or clears the flag in the slot of R6 by the name that the process has now.
    fn flag_by_name(program: &mut Assembler, command: ByName<'_>, out: Label) {
        let different = program.label();
        program.load(Width::Word, R9, R6, SLOT_FLAGS);
        for (flag, condition, asked) in [
            (CANDIDATE, Condition::Equal, command.only_candidates),
            (TRACED, Condition::Different, command.stays),
        ] {
            if asked {
                program.register(Operation::Move, R1, R9);
                program.immediate(Operation::And, R1, flag.cast_signed());
                program.jump_if(R1, condition, 0, out);
            }
        }
        program.register(Operation::Move, R1, FRAME);
        program.immediate(Operation::Add, R1, NAME.into());
        program.immediate(Operation::Move, R2, 16);
        program.call(Helper::CommandName);
        // Up to the zero that ends the name: some kernels leave the rest of an earlier one behind
        // it.
        let (mut expected, mut mask) = ([0_u8; 16], [0_u8; 16]);
        for (at, byte) in command.name.bytes().take(15).chain([0]).enumerate() {
            (expected[at], mask[at]) = (byte, u8::MAX);
        }
        for (half, at) in [NAME, NAME + 8].into_iter().enumerate() {
            let number = |bytes: [u8; 16]| {
                let mut part = [0_u8; 8];
                part.copy_from_slice(&bytes[8 * half..8 * half + 8]);
                u64::from_ne_bytes(part)
            };
            program.load(Width::Double, R2, FRAME, at);
            program.constant(R1, number(mask));
            program.register(Operation::And, R2, R1);
            program.constant(R1, number(expected));
            program.jump_if_both(R1, Condition::Different, R2, different);
        }
        program.immediate(Operation::And, R9, CANDIDATE.cast_signed());
        program.immediate(Operation::Add, R9, TRACED.cast_signed());
        program.store(Width::Word, R6, SLOT_FLAGS, R9);
        program.jump(out);
        program.place(different);
        program.immediate(Operation::And, R9, CANDIDATE.cast_signed());
        program.store(Width::Word, R6, SLOT_FLAGS, R9);
    }

    /// For `sched_switch`, whose first argument says whether the thread would have gone on.
    pub(super) fn switch(&self) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let out = program.label();
        self.of_recorded(&mut program, out);
        Self::increment(&mut program, R8, SWITCHES);
        program.load(Width::Double, R1, R6, 0);
        program.immediate(Operation::And, R1, 0xff);
        program.jump_if(R1, Condition::Equal, 0, out);
        Self::increment(&mut program, R8, PREEMPTIONS);
        program.place(out);
        program.exit();
        program.finish()
    }

    /// For `block_bio_queue`: a thread hands a block device a request.
    pub(super) fn block(&self) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let out = program.label();
        self.of_recorded(&mut program, out);
        Self::increment(&mut program, R8, BLOCK_REQUESTS);
        program.place(out);
        program.exit();
        program.finish()
    }

    /// The processor's counters into R8, if a recorded thread runs that is neither the idle one nor
    /// the tracer's.
    fn of_recorded(&self, program: &mut Assembler, out: Label) {
        let other = program.label();
        program.register(Operation::Move, R6, R1);
        self.thread(program, out);
        program.jump_if(R7, Condition::Equal, 0, out);
        self.jump_if_other(program, other);
        program.jump(out);
        program.place(other);
        self.processor(program, out);
    }
}
