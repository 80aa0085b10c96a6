//! bpf(2), `perf_event_open(2)` and the mount of tracefs: what the tracer asks of the kernel.
//!
//! Maps are arrays whose memory the kernel's programs and this one share; everything in them is
//! read and written as atomic numbers.
#![expect(unsafe_code, reason = "BPF, performance events and mappings are reached by system calls")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use libc::{c_int, c_long};

use super::assembler::Instruction;
use super::calls::MARKER;

const MAP_CREATE: c_int = 0;
const PROGRAM_LOAD: c_int = 5;
const RAW_TRACEPOINT_OPEN: c_int = 17;
const MAP_TYPE_ARRAY: u32 = 2;
/// Its memory can be mapped (Linux 5.5).
const MAP_IS_MAPPABLE: u32 = 1 << 10;
const LICENSE: &std::ffi::CStr = c"GPL";
/// What the verifier says of a program that it refuses.
const LOG: usize = 64 << 10;

/// What a program is attached to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tracepoint with the fields that tracefs describes.
    Tracepoint = 5,
    /// A tracepoint with the arguments that the kernel passes.
    RawTracepoint = 17,
}

fn checked(result: c_long) -> io::Result<OwnedFd> {
    let number = c_int::try_from(result).unwrap_or(-1);
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Calls bpf(2), whose attributes are a struct of a length that tells its version.
fn bpf<T>(command: c_int, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the pointer leads to as many bytes as are stated; pointers within lead to what lives
    // until the call returns.
    checked(unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>())
    })
}

/// An array that is shared with programs.
#[derive(Debug)]
pub(super) struct Array {
    descriptor: OwnedFd,
    memory: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory stays mapped as long as the array exists, and is only used as atomic numbers.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

impl Array {
    /// An array of zeros: so many values of so many bytes each, a multiple of eight.
    pub(super) fn create(values: u32, value_bytes: u32) -> io::Result<Self> {
        #[repr(C)]
        struct Attributes {
            kind: u32,
            key_bytes: u32,
            value_bytes: u32,
            values: u32,
            flags: u32,
        }
        assert!(value_bytes.is_multiple_of(8), "the kernel rounds values up to eight bytes");
        let attributes = Attributes {
            kind: MAP_TYPE_ARRAY,
            key_bytes: 4,
            value_bytes,
            values,
            flags: MAP_IS_MAPPABLE,
        };
        let descriptor = bpf(MAP_CREATE, &attributes)?;
        let bytes = (values as usize * value_bytes as usize).next_multiple_of(page_bytes());
        // SAFETY: a new mapping at an address that the kernel chooses, as long as the array.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                descriptor.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { descriptor, memory, bytes })
    }

    /// The number by which programs name it.
    pub(super) fn number(&self) -> c_int {
        self.descriptor.as_raw_fd()
    }

    /// The 64-bit number at an offset.
    ///
    /// # Panics
    /// The offset is outside, or no multiple of 8.
    #[inline]
    pub(super) fn double(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.bytes, "within the array");
        // SAFETY: it is within the mapping and aligned, and lives as long as the array.
        unsafe { AtomicU64::from_ptr(self.memory.as_ptr().add(offset).cast()) }
    }

    /// The 32-bit number at an offset.
    ///
    /// # Panics
    /// The offset is outside, or no multiple of 4.
    #[inline]
    pub(super) fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.bytes, "within the array");
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(offset).cast()) }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: the mapping is this array's, and nothing refers to it any longer.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

fn page_bytes() -> usize {
    // SAFETY: no pointers are passed.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Loads a program.
///
/// # Errors
/// The kernel's, with the end of what its verifier says.
pub(super) fn load(kind: Kind, code: &[Instruction]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        count: u32,
        code: u64,
        license: u64,
        log_level: u32,
        log_bytes: u32,
        log: u64,
    }
    let mut attributes = Attributes {
        kind: kind as u32,
        count: u32::try_from(code.len()).unwrap_or(u32::MAX),
        code: code.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
    };
    let refused = match bpf(PROGRAM_LOAD, &attributes) {
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => error,
        other => return other,
    };
    let mut log = vec![0_u8; LOG];
    (attributes.log_level, attributes.log_bytes, attributes.log) =
        (1, u32::try_from(LOG).unwrap_or(0), log.as_mut_ptr() as u64);
    let _ = bpf(PROGRAM_LOAD, &attributes);
    let said = String::from_utf8_lossy(&log);
    let last = said.trim_end_matches('\0').trim_end().rsplit('\n').take(3).collect::<Vec<_>>();
    Err(io::Error::new(refused.kind(), format!("{refused} ({})", last.join("; "))))
}

/// Attaches a program to a raw tracepoint; it is detached when the result is dropped.
pub(super) fn attach_raw(tracepoint: &str, program: &OwnedFd) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        name: u64,
        program: c_int,
        padding: u32,
    }
    let name = CString::new(tracepoint)?;
    bpf(
        RAW_TRACEPOINT_OPEN,
        &Attributes { name: name.as_ptr() as u64, program: program.as_raw_fd(), padding: 0 },
    )
}

/// Attaches a program to the tracepoint of a number, on all processors; it is detached when the
/// result is dropped.
pub(super) fn attach(tracepoint: u64, program: &OwnedFd) -> io::Result<OwnedFd> {
    const TYPE_TRACEPOINT: u32 = 2;
    const BYTES: u32 = 64;
    const CLOSE_ON_EXEC: u64 = 8;
    const ENABLE: u64 = 0x2400;
    const SET_BPF: u64 = 0x4004_2408;
    /// The first version of the attributes.
    #[repr(C)]
    struct Attributes {
        kind: u32,
        bytes: u32,
        config: u64,
        period: u64,
        rest: [u64; 5],
    }
    let attributes = Attributes {
        kind: TYPE_TRACEPOINT,
        bytes: BYTES,
        config: tracepoint,
        period: 1,
        rest: [0; 5],
    };
    // SAFETY: the pointer leads to as many bytes as they state. The program of a tracepoint runs on
    // every processor, whichever one its event is of.
    let event = checked(unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            -1 as c_int,
            0 as c_int,
            -1 as c_int,
            CLOSE_ON_EXEC,
        )
    })?;
    for (request, value) in [(SET_BPF, program.as_raw_fd()), (ENABLE, 0)] {
        // SAFETY: both requests take a number.
        if unsafe { libc::ioctl(event.as_raw_fd(), request as _, value) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(event)
}

/// A mount of tracefs that no path leads to.
pub(super) fn mount_tracefs() -> io::Result<OwnedFd> {
    const CREATE: c_int = 6;
    let name = c"tracefs";
    // SAFETY: the pointer leads to a string.
    let context = checked(unsafe { libc::syscall(libc::SYS_fsopen, name.as_ptr(), 1 as c_int) })?;
    // SAFETY: the request takes neither key nor value.
    let created = unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            CREATE,
            std::ptr::null::<u8>(),
            std::ptr::null::<u8>(),
            0 as c_int,
        )
    };
    if created < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: no pointers are passed.
    checked(unsafe {
        libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 1 as c_int, 0 as c_int)
    })
}

/// Opens a file below a directory.
pub(super) fn open_below(directory: BorrowedFd<'_>, path: &str) -> io::Result<OwnedFd> {
    let path = CString::new(path)?;
    // SAFETY: the pointer leads to a string.
    let number = unsafe {
        libc::openat(directory.as_raw_fd(), path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC)
    };
    checked(number.into())
}

/// Calls the marker, which no kernel knows.
pub(super) fn mark() {
    // SAFETY: there is no such call; it returns `ENOSYS`.
    unsafe { libc::syscall(c_long::from(MARKER.cast_signed())) };
}
