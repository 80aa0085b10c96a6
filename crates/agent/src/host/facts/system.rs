//! Kernel, tick rate, hypervisor and container of this host.
//!
//! Bias: container runtimes and hypervisors are known by the marks they leave, and may leave none.

use std::io::Read;

use flate2::read::GzDecoder;
use serde::Serialize;

use super::kernel;
use super::reading::HostReader;

/// The configuration of a kernel, unpacked, is shorter.
const LONGEST_CONFIGURATION: u64 = 8 << 20;
/// Parameters of the kernel's start that change how processors, clocks and timers behave. Others
/// are not reported: they may be secret.
const REPORTED: [&str; 14] = [
    "isolcpus",
    "nohz_full",
    "rcu_nocbs",
    "nohz",
    "highres",
    "idle",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "intel_pstate",
    "amd_pstate",
    "clocksource",
    "tsc",
    "nosmt",
    "preempt",
];

/// The kernel and its boot parameters.
#[derive(Debug, Serialize)]
pub(super) struct System {
    host: String,
    kernel: String,
    kernel_version: String,
    machine: String,
    uptime_seconds: Option<f64>,
    boot_parameters: Option<Vec<String>>,
    /// The kernel's tick rate, where its configuration can be read.
    tick_hz: Option<u32>,
    /// Queueing disciplines that the kernel was built with, of those that a measurement may want;
    /// none where its configuration is not there.
    queueing_disciplines: Option<Vec<String>>,
}

/// Hardware, hypervisor and container.
#[derive(Debug, Serialize)]
pub(super) struct Virtual {
    /// Whether the processor reports a hypervisor; none where it has no such flag.
    hypervisor_flag: Option<bool>,
    /// The hypervisor's name.
    hypervisor: Option<String>,
    vendor: Option<String>,
    product: Option<String>,
    /// The runtime of this container; none where no mark of one was seen, or where this process is
    /// in no namespace of a container's.
    container: Option<String>,
    /// Where marks were seen: of a container, or of the image that a machine was made from.
    container_marks: Vec<String>,
}

impl System {
    pub(super) fn look(reader: &mut HostReader) -> Self {
        let name = rustix::system::uname();
        let owned = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let release = owned(name.release());
        let configuration = configuration(reader, &release);
        let tick = configuration.as_ref().map_err(String::clone).and_then(|text| {
            let tick = option(text, "CONFIG_HZ").and_then(|tick| tick.parse().ok());
            tick.ok_or_else(|| "the kernel's configuration lacks it".to_owned())
        });
        let disciplines = configuration.map(|text| disciplines(&text));
        let uptime = reader.parsed("system.uptime_seconds", "/proc/uptime", |text| {
            text.split(' ').next()?.parse().ok()
        });
        let is_reported =
            |word: &str| REPORTED.contains(&word.split('=').next().unwrap_or_default());
        let boot = reader.words("system.boot_parameters", "/proc/cmdline");
        Self {
            host: owned(name.nodename()),
            kernel: release,
            kernel_version: owned(name.version()),
            machine: owned(name.machine()),
            uptime_seconds: uptime,
            boot_parameters: boot
                .map(|words| words.into_iter().filter(|word| is_reported(word)).collect()),
            tick_hz: reader.or_note("system.tick_hz", tick),
            queueing_disciplines: reader.or_note("system.queueing_disciplines", disciplines),
        }
    }
}

/// The configuration that the kernel was built with: of the running one, or the file of its
/// package.
fn configuration(reader: &HostReader, release: &str) -> Result<String, String> {
    let packed = reader.bytes("/proc/config.gz").and_then(|bytes| {
        let mut text = Vec::new();
        GzDecoder::new(&bytes[..]).take(LONGEST_CONFIGURATION).read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    });
    let path = format!("/boot/config-{release}");
    packed.or_else(|error| {
        reader.text(&path).map_err(|other| format!("/proc/config.gz: {error}; {path}: {other}"))
    })
}

fn option<'a>(configuration: &'a str, name: &str) -> Option<&'a str> {
    configuration.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

fn disciplines(configuration: &str) -> Vec<String> {
    let built = |name: &str| {
        option(configuration, &format!("CONFIG_NET_SCH_{}", name.to_uppercase())).is_some()
    };
    ["fq", "fq_codel", "etf", "netem", "tbf", "htb", "cake"]
        .into_iter()
        .filter(|name| built(name))
        .map(str::to_owned)
        .collect()
}

impl Virtual {
    pub(super) fn look(reader: &mut HostReader) -> Self {
        let text = reader.read("virtual.hypervisor_flag", "/proc/cpuinfo");
        let flags = text
            .as_deref()
            .and_then(|text| text.lines().find_map(|line| line.strip_prefix("flags")));
        let hypervisor_flag =
            flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
        if text.is_some() && flags.is_none() {
            reader.or_note::<()>(
                "virtual.hypervisor_flag",
                Err("this kind of processor has no flag for it".to_owned()),
            );
        }
        let xen = reader.text("/sys/hypervisor/type").ok();
        let tree = || reader.text("/proc/device-tree/hypervisor/compatible").ok();
        let named = if hypervisor_flag == Some(true) { kernel::hypervisor() } else { None };
        let hypervisor = named.or(xen).or_else(tree);
        let (container, container_marks) = container(reader);
        let mut dmi =
            |what: &str, name: &str| reader.read(what, &format!("/sys/class/dmi/id/{name}"));
        Self {
            hypervisor_flag,
            hypervisor,
            vendor: dmi("virtual.vendor", "sys_vendor"),
            product: dmi("virtual.product", "product_name"),
            container,
            container_marks,
        }
    }
}

/// The marks of containers: the runtime, and where its mark was found.
fn container(reader: &HostReader) -> (Option<String>, Vec<String>) {
    let mut found: Vec<(String, String)> = Vec::new();
    for (path, maker) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if reader.bytes(path).is_ok() {
            found.push((maker.to_owned(), path.to_owned()));
        }
    }
    if let Ok(maker) = reader.text("/run/systemd/container") {
        found.push((maker, "/run/systemd/container".to_owned()));
    }
    if let Ok(groups) = reader.text("/proc/self/cgroup") {
        let makers = [
            ("kubepods", "kubernetes"),
            ("docker", "docker"),
            ("libpod", "podman"),
            ("containerd", "containerd"),
            ("lxc", "lxc"),
        ];
        let seen = makers.into_iter().find(|(mark, _)| {
            groups.lines().any(|line| line.rsplit(':').next().is_some_and(|at| at.contains(mark)))
        });
        found.extend(seen.map(|(_, maker)| (maker.to_owned(), "/proc/self/cgroup".to_owned())));
    }
    let maker = if is_apart(reader) { found.first().map(|(maker, _)| maker.clone()) } else { None };
    (maker, found.into_iter().map(|(_, mark)| mark).collect())
}

/// Namespaces that a machine starts with (`PROC_PID_INIT_INO` and its neighbours of
/// `linux/proc_ns.h`); a container has others of its own.
const INITIAL: [(&str, &str); 3] =
    [("ipc", "ipc:[4026531839]"), ("uts", "uts:[4026531838]"), ("pid", "pid:[4026531836]")];

/// Whether this process is in another namespace than the machine's first; also where that cannot be
/// seen.
fn is_apart(reader: &HostReader) -> bool {
    let shown = |name: &str| std::fs::read_link(reader.path_of(&format!("/proc/self/ns/{name}")));
    !INITIAL
        .iter()
        .all(|(name, initial)| shown(name).is_ok_and(|found| found.as_os_str() == *initial))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn the_tick_is_what_the_running_kernel_was_built_with() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("proc")).unwrap();
        fs::create_dir_all(directory.path().join("boot")).unwrap();
        let reader = HostReader::below(directory.path());
        assert!(configuration(&reader, "6.1").unwrap_err().contains("/boot/config-6.1"));
        let text = "# CONFIG_NET_SCH_ETF is not set\nCONFIG_HZ_100=y\nCONFIG_HZ=100\n\
            CONFIG_NET_SCH_FQ_CODEL=m\n";
        fs::write(directory.path().join("boot/config-6.1"), text).unwrap();
        assert_eq!(option(&configuration(&reader, "6.1").unwrap(), "CONFIG_HZ"), Some("100"));
        assert_eq!(disciplines(text), ["fq_codel"]);
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"CONFIG_HZ=1000\n").unwrap();
        fs::write(directory.path().join("proc/config.gz"), packed.finish().unwrap()).unwrap();
        assert_eq!(option(&configuration(&reader, "6.1").unwrap(), "CONFIG_HZ"), Some("1000"));
    }

    #[test]
    fn containers_are_known_by_their_marks() {
        let directory = tempfile::tempdir().unwrap();
        let reader = HostReader::below(directory.path());
        assert_eq!(container(&reader), (None, vec![]));
        fs::create_dir_all(directory.path().join("proc/self")).unwrap();
        fs::write(directory.path().join("proc/self/cgroup"), "0::/kubepods.slice/pod1\n").unwrap();
        assert_eq!(
            container(&reader),
            (Some("kubernetes".to_owned()), vec!["/proc/self/cgroup".to_owned()])
        );
        fs::write(directory.path().join(".dockerenv"), "").unwrap();
        assert_eq!(container(&reader).0.as_deref(), Some("docker"));
        // A machine that was made from a container's image has its marks, and is none.
        fs::create_dir_all(directory.path().join("proc/self/ns")).unwrap();
        for (name, initial) in INITIAL {
            std::os::unix::fs::symlink(initial, directory.path().join("proc/self/ns").join(name))
                .unwrap();
        }
        let (maker, marks) = container(&reader);
        assert_eq!((maker, marks.len()), (None, 2));
        fs::remove_file(directory.path().join("proc/self/ns/pid")).unwrap();
        std::os::unix::fs::symlink("pid:[4026532201]", directory.path().join("proc/self/ns/pid"))
            .unwrap();
        assert_eq!(container(&reader).0.as_deref(), Some("docker"));
    }
}
