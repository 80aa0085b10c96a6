//! BPF instructions (RFC 9669), as they are put one behind the other; jumps to labels.
//!
//! It only encodes. What a program may do is judged by the kernel's verifier.

/// An instruction as the kernel takes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    code: u8,
    /// Destination in the lower half, source in the upper one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Register(u8);

/// Results of helpers.
pub(super) const R0: Register = Register(0);
/// The first argument of helpers; lost in calls, as are those to R5.
pub(super) const R1: Register = Register(1);
pub(super) const R2: Register = Register(2);
pub(super) const R3: Register = Register(3);
/// Kept in calls.
pub(super) const R6: Register = Register(6);
pub(super) const R7: Register = Register(7);
pub(super) const R8: Register = Register(8);
pub(super) const R9: Register = Register(9);
/// The end of the stack.
pub(super) const FRAME: Register = Register(10);

/// How wide a value in memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Word = 0x00,
    Double = 0x18,
}

/// What is done to a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Add = 0x00,
    Subtract = 0x10,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Move = 0xb0,
}

/// When it is jumped; numbers are unsigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Equal = 0x10,
    AtLeast = 0x30,
    Different = 0x50,
    Below = 0xa0,
}

/// The helpers of the kernel that are called (bpf-helpers(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Helper {
    MapLookup = 1,
    MonotonicTime = 5,
    ProcessorNumber = 8,
    ProcessAndThread = 14,
    CommandName = 16,
    ReadKernel = 113,
}

/// A position that is jumped to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(usize);

/// A program that grows.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    code: Vec<Instruction>,
    /// Positions of labels.
    labels: Vec<Option<usize>>,
    /// Jumps whose distance is still to be filled in.
    jumps: Vec<(usize, Label)>,
}

const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const STORE_IMMEDIATE: u8 = 0x62;
const LOAD_IMMEDIATE_DOUBLE: u8 = 0x18;
const IMMEDIATE: u8 = 0x07;
const FROM_REGISTER: u8 = 0x0f;
const JUMP: u8 = 0x05;
const JUMP_FROM_REGISTER: u8 = 0x0d;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const MAP_DESCRIPTOR: u8 = 1;
const ATOMIC_DOUBLE: u8 = 0xdb;
const FETCH: i32 = 1;

impl Assembler {
    fn put(&mut self, code: u8, to: Register, from: Register, offset: i16, immediate: i32) {
        let registers = to.0 | from.0 << 4;
        self.code.push(Instruction { code, registers, offset, immediate });
    }

    /// `to = operation(to, from)`.
    pub(super) fn register(&mut self, operation: Operation, to: Register, from: Register) {
        self.put(operation as u8 | FROM_REGISTER, to, from, 0, 0);
    }

    /// `to = operation(to, value)`.
    pub(super) fn immediate(&mut self, operation: Operation, to: Register, value: i32) {
        self.put(operation as u8 | IMMEDIATE, to, R0, 0, value);
    }

    /// `to = value`, of 64 bits.
    pub(super) fn constant(&mut self, to: Register, value: u64) {
        let (low, high) = halves(value);
        self.put(LOAD_IMMEDIATE_DOUBLE, to, R0, 0, low.cast_signed());
        self.put(0, R0, R0, 0, high.cast_signed());
    }

    /// `to = the map of a descriptor`.
    pub(super) fn map(&mut self, to: Register, descriptor: i32) {
        self.put(LOAD_IMMEDIATE_DOUBLE, to, Register(MAP_DESCRIPTOR), 0, descriptor);
        self.put(0, R0, R0, 0, 0);
    }

    /// `to = memory[from + offset]`.
    pub(super) fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.put(LOAD | width as u8, to, from, offset, 0);
    }

    /// `memory[to + offset] = from`.
    pub(super) fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) {
        self.put(STORE | width as u8, to, from, offset, 0);
    }

    /// `memory[to + offset] = value`.
    pub(super) fn store_immediate(&mut self, width: Width, to: Register, offset: i16, value: i32) {
        self.put(STORE_IMMEDIATE | width as u8, to, R0, offset, value);
    }

    /// `from = fetch_and_add(memory[to + offset], from)`: a full memory barrier.
    pub(super) fn fetch_and_add(&mut self, to: Register, offset: i16, from: Register) {
        self.put(ATOMIC_DOUBLE, to, from, offset, FETCH);
    }

    /// Calls a helper.
    pub(super) fn call(&mut self, helper: Helper) {
        self.put(CALL, R0, R0, 0, helper as i32);
    }

    /// Ends the program; its result, for a tracepoint of no meaning, is 0.
    pub(super) fn exit(&mut self) {
        self.immediate(Operation::Move, R0, 0);
        self.put(EXIT, R0, R0, 0, 0);
    }

    /// A label without a position yet.
    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Gives the label this position.
    pub(super) fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Jumps always.
    pub(super) fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.put(JUMP, R0, R0, 0, 0);
    }

    /// Jumps if a register and a value, sign-extended, are so.
    pub(super) fn jump_if(&mut self, one: Register, is: Condition, value: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.put(JUMP | is as u8, one, R0, 0, value);
    }

    /// Jumps if two registers are so.
    pub(super) fn jump_if_both(&mut self, one: Register, is: Condition, two: Register, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.put(JUMP_FROM_REGISTER | is as u8, one, two, 0, 0);
    }

    /// The finished program.
    ///
    /// # Panics
    /// A label was never placed, or is further than a jump reaches: a bug of the program's author.
    pub(super) fn finish(mut self) -> Vec<Instruction> {
        for (position, label) in self.jumps {
            let target = self.labels[label.0];
            let distance = target.and_then(|target| i16::try_from(target - position - 1).ok());
            assert!(distance.is_some(), "every jump of a program leads forward to a placed label");
            self.code[position].offset = distance.unwrap_or_default();
        }
        self.code
    }
}

/// The lower and the upper half of a number.
pub(super) fn halves(value: u64) -> (u32, u32) {
    let half = |value: u64| u32::try_from(value & u64::from(u32::MAX)).unwrap_or_default();
    (half(value), half(value >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes are those of `llvm-mc -triple bpfel`: `r1 = *(u64 *)(r6 + 8)`, `if r1 == 0 goto
    /// +1`, `r0 = 7`, `r0 = 0`, `exit`.
    #[test]
    fn instructions_are_encoded_as_the_kernel_reads_them() {
        let mut program = Assembler::default();
        let out = program.label();
        program.load(Width::Double, R1, R6, 8);
        program.jump_if(R1, Condition::Equal, 0, out);
        program.immediate(Operation::Move, R0, 7);
        program.place(out);
        program.exit();
        let fields: Vec<(u8, u8, i16, i32)> = program
            .finish()
            .into_iter()
            .map(|one| (one.code, one.registers, one.offset, one.immediate))
            .collect();
        assert_eq!(
            fields,
            [
                (0x79, 0x61, 8, 0),
                (0x15, 0x01, 1, 0),
                (0xb7, 0, 0, 7),
                (0xb7, 0, 0, 0),
                (0x95, 0, 0, 0)
            ]
        );
    }
}
