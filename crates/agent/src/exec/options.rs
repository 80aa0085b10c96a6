//! The command line of `trustbed-agent exec`.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::{Error, kernel};

/// How it is called.
pub(super) const USAGE: &str = "trustbed-agent exec [--namespace PATH] [--control DESCRIPTOR] \
    [--foreground] [--replace] -- COMMAND [ARGUMENT…]";

/// What was requested.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// The network namespace to join.
    pub(super) namespace: Option<PathBuf>,
    /// The control socket: events out, and its end orders the end.
    pub(super) control: Option<OwnedFd>,
    /// The command gets the terminal, if there is one and it is ours.
    pub(super) foreground: bool,
    /// Become the command instead of staying beside it: for programs that know themselves when to
    /// end.
    pub(super) replace: bool,
    /// The command and its arguments; never empty.
    pub(super) command: Vec<OsString>,
}

/// Parses the arguments.
pub(super) fn read(words: Vec<OsString>) -> Result<Options, Error> {
    let mut options = Options::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let mut value = || {
            words.next().ok_or_else(|| usage(format!("{} needs a value", word.to_string_lossy())))
        };
        match word.to_str() {
            Some("--namespace") => options.namespace = Some(value()?.into()),
            Some("--control") => options.control = Some(descriptor(&value()?)?),
            Some("--foreground") => options.foreground = true,
            Some("--replace") => options.replace = true,
            Some("--") => {
                options.command = words.collect();
                break;
            }
            _ => return Err(usage(format!("no such option, {}", word.to_string_lossy()))),
        }
    }
    if options.command.is_empty() {
        return Err(usage("no command is given".to_owned()));
    }
    Ok(options)
}

fn descriptor(word: &OsString) -> Result<OwnedFd, Error> {
    let number = word.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > 2);
    let taken = number.and_then(kernel::take_descriptor);
    taken.ok_or_else(|| usage(format!("{} is no open descriptor above 2", word.to_string_lossy())))
}

fn usage(message: String) -> Error {
    Error::Usage { message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn arguments_after_the_dashes_belong_to_the_command() {
        let options =
            read(words("--namespace /run/netns/x --foreground -- ls --replace -- y")).unwrap();
        assert_eq!(options.namespace, Some(PathBuf::from("/run/netns/x")));
        assert!(options.foreground && !options.replace);
        assert_eq!(options.command, words("ls --replace -- y"));
    }

    #[test]
    fn nonsense_is_named() {
        let cases = [
            ("", "no command"),
            ("--", "no command"),
            ("--control", "needs a value"),
            ("--control 999 -- ls", "999"),
            ("-x -- ls", "-x"),
            ("ls", "ls"),
        ];
        for (line, part) in cases {
            let error = read(words(line)).unwrap_err().to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
