//! What a process that reads frames of others never has to do, the kernel refuses from then on
//! (seccomp(2)): starting programs and processes, connecting to anybody, looking into other
//! processes, changing the machine.
//!
//! Bias: what is not listed is permitted. Python and its threads need more than anybody would list,
//! and a call that a new library makes must not end a watch.

#![expect(unsafe_code, reason = "the standard library installs no filter")]

use std::io;

use libc::{c_long, sock_filter};

/// Calls are checked by the numbers of this architecture; those of another are all refused.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
/// From this number on, x86-64 repeats its calls for x32.
#[cfg(target_arch = "x86_64")]
const REPEATED: u32 = 0x4000_0000;

/// Offsets in the kernel's `seccomp_data`; both architectures are little-endian.
const NUMBER: u32 = 0;
const ARCHITECTURE_OF_CALL: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

const REFUSED: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_connect,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// Refuses them for all threads of the process, for good, with `EPERM`. Needs `no_new_privs`. A
/// kernel without such filters is no error.
pub(super) fn refuse() -> io::Result<()> {
    let mut program = program();
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    // SAFETY: the program is laid out as seccomp(2) states, and lives until the kernel has copied
    // it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            &raw const program,
        )
    };
    match result {
        0 => Ok(()),
        1.. => Err(io::Error::other("a thread has a system call filter of its own")),
        _ => match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => Ok(()),
            error => Err(error),
        },
    }
}

/// Threads may be made, processes not. What clone3(2) is to make stands in memory, where no filter
/// looks: it is refused as if it were not known, and libraries then use clone(2).
fn program() -> Vec<sock_filter> {
    let number = |call: c_long| u32::try_from(call).unwrap_or(u32::MAX);
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    let unknown = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    let mut program = vec![
        load(ARCHITECTURE_OF_CALL),
        jump(libc::BPF_JEQ, ARCHITECTURE, 1, 0),
        give(refuse),
        load(NUMBER),
        #[cfg(target_arch = "x86_64")]
        jump(libc::BPF_JGE, REPEATED, 0, 1),
        #[cfg(target_arch = "x86_64")]
        give(refuse),
    ];
    for &call in REFUSED {
        program.extend([jump(libc::BPF_JEQ, number(call), 0, 1), give(refuse)]);
    }
    program.extend([
        jump(libc::BPF_JEQ, number(libc::SYS_clone3), 0, 1),
        give(unknown),
        jump(libc::BPF_JEQ, number(libc::SYS_clone), 0, 3),
        load(FIRST_ARGUMENT),
        jump(libc::BPF_JSET, libc::CLONE_THREAD.unsigned_abs(), 1, 0),
        give(refuse),
        give(libc::SECCOMP_RET_ALLOW),
    ]);
    program
}

fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

/// Compares what was loaded, and leaves out so many instructions if it is so, and if not.
fn jump(comparison: u32, value: u32, if_so: u8, if_not: u8) -> sock_filter {
    instruction(libc::BPF_JMP | comparison | libc::BPF_K, value, if_so, if_not)
}

fn give(verdict: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, verdict, 0, 0)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: u16::try_from(code).unwrap_or(u16::MAX), jt, jf, k }
}
