//! From words to a [`Filter`]: a parser by recursive descent.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::{End, Expression, Filter, Test};
use crate::network::protocol;

/// Parentheses within parentheses, and repeated `not`s, that are read before giving up.
const DEEPEST: usize = 64;
/// Tests in one filter: each is a level of what is evaluated, and dropped, by recursion.
const MOST_TESTS: usize = 4096;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;
/// The upper 96 bits of an IPv4 address that is mapped into IPv6.
const MAPPED: u128 = 0xffff_0000_0000;

/// Why words are not a filter. Positions are counted in characters, from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// Something else should stand here.
    #[error("{found} (at {position}) stands where {expected} is expected")]
    Unexpected {
        /// What is found here.
        found: String,
        /// Where.
        position: usize,
        /// What should.
        expected: &'static str,
    },
    /// The filter ends too soon.
    #[error("the filter ends where {expected} is expected")]
    Incomplete {
        /// What should follow.
        expected: &'static str,
    },
    /// A value that is not of its kind.
    #[error("{found} (at {position}) is no {kind}")]
    BadValue {
        /// What is found there.
        found: String,
        /// Where.
        position: usize,
        /// What it should be.
        kind: &'static str,
    },
    /// More nesting than anybody means.
    #[error("the filter is nested deeper than {DEEPEST} levels")]
    TooDeep,
    /// More tests than anybody means.
    #[error("the filter has more than {MOST_TESTS} tests")]
    TooLong,
}

/// A word and where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word<'a> {
    text: &'a str,
    position: usize,
}

/// The kind of value that a test compares with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Host,
    Net,
    Port,
    PortRange,
}

/// What precedes a value: `tcp dst port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Qualifiers {
    layer: Option<Test>,
    end: End,
    kind: Kind,
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    next: usize,
    depth: usize,
    tests: usize,
    /// For the shorthand `port 80 or 443`.
    latest: Option<Qualifiers>,
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser { words: words(text), next: 0, depth: 0, tests: 0, latest: None };
        let expression = parser.expression()?;
        match parser.peek() {
            None => Ok(Self { expression }),
            Some(word) => Err(word.unexpected("`and`, `or` or the end")),
        }
    }
}

impl Word<'_> {
    fn unexpected(self, expected: &'static str) -> FilterError {
        FilterError::Unexpected { found: self.text.to_owned(), position: self.position, expected }
    }

    fn bad(self, kind: &'static str) -> FilterError {
        FilterError::BadValue { found: self.text.to_owned(), position: self.position, kind }
    }
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut rest = text.char_indices().enumerate().peekable();
    while let Some((index, (start, first))) = rest.next() {
        if first.is_whitespace() {
            continue;
        }
        let mut end = start + first.len_utf8();
        let alone = matches!(first, '(' | ')' | '!');
        let goes_on = |next: char| match first {
            '&' | '|' => next == first,
            _ => !alone && !next.is_whitespace() && !matches!(next, '(' | ')' | '!' | '&' | '|'),
        };
        while let Some((_, (at, next))) = rest.next_if(|(_, (_, next))| goes_on(*next)) {
            end = at + next.len_utf8();
        }
        found.push(Word { text: &text[start..end], position: index + 1 });
    }
    found
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.next).copied()
    }

    fn take(&mut self, expected: &'static str) -> Result<Word<'a>, FilterError> {
        let word = self.peek().ok_or(FilterError::Incomplete { expected })?;
        self.next += 1;
        Ok(word)
    }

    /// Whether the next word is one of these, which is then passed.
    fn passes(&mut self, words: &[&str]) -> bool {
        let found = self.peek().is_some_and(|word| words.contains(&word.text));
        self.next += usize::from(found);
        found
    }

    fn expression(&mut self) -> Result<Expression, FilterError> {
        let mut left = self.term()?;
        loop {
            if self.passes(&["and", "&&"]) {
                left = Expression::Both(Box::new(left), Box::new(self.term()?));
            } else if self.passes(&["or", "||"]) {
                left = Expression::Either(Box::new(left), Box::new(self.term()?));
            } else {
                return Ok(left);
            }
        }
    }

    fn term(&mut self) -> Result<Expression, FilterError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(FilterError::TooDeep);
        }
        let found = if self.passes(&["not", "!"]) {
            Expression::Not(Box::new(self.term()?))
        } else if self.passes(&["("]) {
            let inside = self.expression()?;
            let close = self.take("`)`")?;
            if close.text != ")" {
                return Err(close.unexpected("`and`, `or` or `)`"));
            }
            inside
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(found)
    }

    fn test(&mut self) -> Result<Expression, FilterError> {
        const TEST: &str = "a test such as `host 10.0.0.1`, `tcp port 80` or `vlan`";
        let word = self.peek().ok_or(FilterError::Incomplete { expected: TEST })?;
        self.tests += 1;
        if self.tests > MOST_TESTS {
            return Err(FilterError::TooLong);
        }
        if let Some(test) = self.frame_test()? {
            return Ok(Expression::Is(test));
        }
        let layer = layer(word.text);
        self.next += usize::from(layer.is_some());
        let end = self.end();
        let kind = match self.peek().map(|word| word.text) {
            Some("host") => Some(Kind::Host),
            Some("net") => Some(Kind::Net),
            Some("port") => Some(Kind::Port),
            Some("portrange") => Some(Kind::PortRange),
            _ => None,
        };
        self.next += usize::from(kind.is_some());
        let qualifiers = match (layer, end, kind, self.latest) {
            (Some(layer), None, None, _) => return Ok(Expression::Is(layer)),
            (None, None, None, Some(latest)) if is_value(word.text) => latest,
            (None, None, None, _) if !is_value(word.text) => return Err(word.unexpected(TEST)),
            // As tcpdump does: an address without a word in front of it is a host.
            (_, _, kind, _) => Qualifiers {
                layer,
                end: end.unwrap_or(End::Either),
                kind: kind.unwrap_or(Kind::Host),
            },
        };
        self.latest = Some(qualifiers);
        self.value(qualifiers)
    }

    /// Tests of the frame itself, which take no qualifiers.
    fn frame_test(&mut self) -> Result<Option<Test>, FilterError> {
        const LENGTH: &str = "length in bytes";
        if self.passes(&["vlan"]) {
            let id = self.peek().filter(|word| word.text.starts_with(|c: char| c.is_ascii_digit()));
            self.next += usize::from(id.is_some());
            let id =
                id.map(|id| number(id, "VLAN id: a number from 1 to 4094", 4094)).transpose()?;
            return Ok(Some(Test::Vlan(id.map(|id| u16::try_from(id).unwrap_or(u16::MAX)))));
        }
        if self.passes(&["less"]) {
            return number(self.take(LENGTH)?, LENGTH, u32::MAX)
                .map(|length| Some(Test::AtMost(length)));
        }
        if self.passes(&["greater"]) {
            return number(self.take(LENGTH)?, LENGTH, u32::MAX)
                .map(|length| Some(Test::AtLeast(length)));
        }
        Ok(None)
    }

    fn end(&mut self) -> Option<End> {
        let first = if self.passes(&["src"]) {
            End::Source
        } else if self.passes(&["dst"]) {
            End::Destination
        } else {
            return None;
        };
        let other = if first == End::Source { "dst" } else { "src" };
        let ahead = |index: usize| self.words.get(self.next + index).map(|word| word.text);
        let both = match (ahead(0), ahead(1)) {
            (Some("or" | "||"), Some(word)) if word == other => End::Either,
            (Some("and" | "&&"), Some(word)) if word == other => End::Both,
            _ => return Some(first),
        };
        self.next += 2;
        Some(both)
    }

    fn value(&mut self, qualifiers: Qualifiers) -> Result<Expression, FilterError> {
        let Qualifiers { layer, end, kind } = qualifiers;
        let test = match kind {
            Kind::Host | Kind::Net => {
                let word = self.take("an address")?;
                if matches!(layer, Some(Test::Protocol(_) | Test::Arp)) {
                    return Err(word.unexpected(
                        "`port` behind a protocol (addresses stand alone, \
                        or behind `ip` and `ip6`)",
                    ));
                }
                let (address, mask) =
                    if kind == Kind::Host { host(word)? } else { self.net(word)? };
                Test::Net { end, address, mask }
            }
            Kind::Port | Kind::PortRange => {
                let word = self.take("a port")?;
                let (low, high) = if kind == Kind::Port {
                    (word.text, word.text)
                } else {
                    word.text.split_once('-').unwrap_or_default()
                };
                let port = |text: &str| {
                    text.parse()
                        .map_err(|_| word.bad(if kind == Kind::Port { PORT } else { PORTS }))
                };
                if !matches!(
                    layer,
                    None | Some(Test::Protocol(protocol::TCP | protocol::UDP) | Test::Ip { .. })
                ) {
                    return Err(word.unexpected("a protocol with ports (tcp or udp)"));
                }
                let (low, high): (u16, u16) = (port(low)?, port(high)?);
                if low > high {
                    return Err(word.bad(PORTS));
                }
                Test::Port { end, low, high }
            }
        };
        let test = Expression::Is(test);
        Ok(layer.map_or(test.clone(), |layer| {
            Expression::Both(Box::new(Expression::Is(layer)), Box::new(test))
        }))
    }

    /// `10.0.0.0/8`, `192.168`, `10.0.0.0 mask 255.0.0.0`, `2001:db8::/32`.
    fn net(&mut self, word: Word<'a>) -> Result<(u128, u128), FilterError> {
        let (text, bits) =
            word.text.split_once('/').map_or((word.text, None), |(text, bits)| (text, Some(bits)));
        let (address, full, given) = if let Ok(address) = text.parse::<Ipv6Addr>() {
            (u128::from(address), 128, 128)
        } else {
            let octets = text
                .split('.')
                .map(str::parse)
                .collect::<Result<Vec<u8>, _>>()
                .map_err(|_| word.bad(NET))?;
            if octets.len() > 4 {
                return Err(word.bad(NET));
            }
            let given = u32::try_from(octets.len()).unwrap_or(4) * 8;
            let value = octets
                .iter()
                .chain([0; 4].iter())
                .take(4)
                .fold(0, |sum, octet| sum << 8 | u128::from(*octet));
            (MAPPED | value, 32, given)
        };
        let mask = if let Some(bits) = bits {
            mask(bits.parse().ok().filter(|bits| *bits <= full).ok_or_else(|| word.bad(NET))?, full)
        } else if full == 32 && self.passes(&["mask"]) {
            let word = self.take("a mask")?;
            let written: Ipv4Addr =
                word.text.parse().map_err(|_| word.bad("mask such as 255.255.0.0"))?;
            !0 << 32 | u128::from(u32::from(written))
        } else {
            mask(given, full)
        };
        if address & !mask != 0 {
            Err(word.bad("network: bits are set behind its mask"))
        } else {
            Ok((address, mask))
        }
    }
}

const NET: &str = "network such as 10.0.0.0/8, 192.168 or 2001:db8::/32";
const PORT: &str = "port: a number from 0 to 65535";
const PORTS: &str = "range of ports such as 8000-8099";

/// A mask of the first `bits` of an address of `full` bits, mapped into 128.
fn mask(bits: u32, full: u32) -> u128 {
    (!0_u128).checked_shl(full - bits).unwrap_or(0) | if full == 32 { !0 << 32 } else { 0 }
}

fn host(word: Word<'_>) -> Result<(u128, u128), FilterError> {
    let v4 = word.text.parse::<Ipv4Addr>().map(|address| MAPPED | u128::from(u32::from(address)));
    let address = v4.or_else(|_| word.text.parse::<Ipv6Addr>().map(u128::from));
    Ok((
        address.map_err(|_| {
            word.bad("address: write it in numbers, such as 10.0.0.1 or 2001:db8::1")
        })?,
        !0,
    ))
}

fn number(word: Word<'_>, kind: &'static str, most: u32) -> Result<u32, FilterError> {
    word.text.parse().ok().filter(|number| *number <= most).ok_or_else(|| word.bad(kind))
}

fn layer(word: &str) -> Option<Test> {
    Some(match word {
        "ip" => Test::Ip { v6: false },
        "ip6" => Test::Ip { v6: true },
        "arp" => Test::Arp,
        "tcp" => Test::Protocol(protocol::TCP),
        "udp" => Test::Protocol(protocol::UDP),
        "icmp" => Test::Protocol(ICMP),
        "icmp6" => Test::Protocol(ICMP6),
        _ => return None,
    })
}

/// Whether a word can only be a value: an address or a number.
fn is_value(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || word.contains(':')
}
