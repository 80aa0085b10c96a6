//! Chains of system calls for Python: Arrow arrays in, counts and distances out.
//!
//! Calls come as arrays of `uint16`, which are read where they lie, with the interpreter lock
//! released. What is compared with what, and how it is put into words, is decided in Python.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt16Array, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt16Type, UInt32Type};
use arrow::error::ArrowError;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::PyArray;
use pyo3_arrow::input::AnyArray;
use trustbed_calls::{
    Alphabet, CallsError, Chain, Chains, Occurrences, Order, PhaseCount, Pruned, Smoothed,
    Smoothing, State, Threads, Topology, Walk, Walker,
};

/// State, call, count and weight of a transition.
type Edge = (Vec<u16>, u16, u64, f64);
/// State, call, counts and probabilities of both sides, bits, excess.
type Changed = (Vec<u16>, u16, (u64, u64), (f64, f64), (f64, f64));
/// log₁₀ over the valid transitions, invalid ones, all.
type Walked = (f64, u64, u64);
/// Count and first indexes of both phases.
type Found = ((u64, Vec<u64>), (u64, Vec<u64>));

/// Why calls cannot be taken.
enum Fault {
    Calls(CallsError),
    Arrow(ArrowError),
    Type(String),
    Null(usize),
}

impl From<CallsError> for Fault {
    fn from(error: CallsError) -> Self {
        Self::Calls(error)
    }
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Calls(error) => PyValueError::new_err(error.to_string()),
            Fault::Arrow(error) => PyValueError::new_err(error.to_string()),
            Fault::Type(message) => PyTypeError::new_err(message),
            Fault::Null(index) => PyValueError::new_err(format!("call {index} is null")),
        }
    }
}

/// Refuses an array of another type, or with nulls: a call that is unknown is no call.
fn checked(array: &dyn Array, wanted: &DataType) -> Result<(), Fault> {
    if array.data_type() != wanted {
        let found = array.data_type();
        return Err(Fault::Type(format!("an array of {wanted} is needed, this is {found}")));
    }
    if array.null_count() > 0 {
        let index = (0..array.len()).find(|index| array.is_null(*index));
        return Err(Fault::Null(index.unwrap_or(0)));
    }
    Ok(())
}

/// Hands every chunk of `calls` to `take`, without the interpreter lock.
fn each_chunk(
    py: Python<'_>,
    calls: AnyArray,
    mut take: impl FnMut(&[u16]) -> Result<(), Fault> + Send,
) -> PyResult<()> {
    let chunks = calls.into_reader()?;
    let done: Result<(), Fault> = py.detach(|| {
        for chunk in chunks {
            let chunk = chunk?;
            checked(&chunk, &DataType::UInt16)?;
            take(chunk.as_primitive::<UInt16Type>().values())?;
        }
        Ok(())
    });
    Ok(done?)
}

fn packed(calls: &[u16], order: Order) -> PyResult<State> {
    if calls.len() == order.calls() {
        return Ok(State::of(calls));
    }
    let (found, wanted) = (calls.len(), order.calls());
    Err(PyValueError::new_err(format!("a state of order {wanted} cannot have {found} calls")))
}

/// Names of calls and their numbers.
#[pyclass(module = "trustbed._core")]
#[derive(Debug, Default)]
pub(crate) struct CallAlphabet {
    alphabet: Alphabet,
}

#[pymethods]
impl CallAlphabet {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.alphabet.names().to_vec()
    }

    fn __len__(&self) -> usize {
        self.alphabet.names().len()
    }

    fn encode(&mut self, py: Python<'_>, names: AnyArray) -> PyResult<Vec<PyArray>> {
        let chunks = names.into_reader()?;
        let alphabet = &mut self.alphabet;
        let encoded: Result<Vec<PyArray>, Fault> = py.detach(|| {
            chunks.map(|chunk| Ok(PyArray::from_array_ref(encoded(alphabet, &chunk?)?))).collect()
        });
        Ok(encoded?)
    }
}

/// The numbers of names, which are strings or a dictionary of strings.
fn encoded(alphabet: &mut Alphabet, names: &ArrayRef) -> Result<ArrayRef, Fault> {
    if names.null_count() > 0 {
        let index = (0..names.len()).find(|index| names.is_null(*index)).unwrap_or(0);
        return Err(Fault::Null(index));
    }
    let numbers: UInt16Array = match names.data_type() {
        // A dictionary without words has no keys to normalise.
        DataType::Dictionary(_, words) if is_text(words) && names.is_empty() => {
            Vec::<u16>::new().into()
        }
        DataType::Dictionary(_, words) if is_text(words) => {
            let dictionary = names.as_any_dictionary();
            let words = cast(dictionary.values(), &DataType::Utf8)?;
            let words = words.as_string::<i32>();
            // A number is given to a name where it is first used, not where the dictionary has it.
            let mut numbers = vec![None; words.len()];
            let keys = dictionary.normalized_keys().into_iter();
            keys.map(|key| match numbers[key] {
                Some(number) => Ok(number),
                None if words.is_null(key) => Err(Fault::Null(0)),
                None => Ok(*numbers[key].insert(alphabet.intern(words.value(key))?)),
            })
            .collect::<Result<Vec<u16>, Fault>>()?
            .into()
        }
        text if is_text(text) => {
            let words = cast(names, &DataType::Utf8)?;
            let each = words.as_string::<i32>().iter().flatten();
            each.map(|name| alphabet.intern(name)).collect::<Result<Vec<u16>, _>>()?.into()
        }
        other => return Err(Fault::Type(format!("names of calls are strings, not {other}"))),
    };
    Ok(Arc::new(numbers))
}

const fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Chains of the orders 1 to N over the same sequences.
#[pyclass(module = "trustbed._core")]
#[derive(Debug)]
pub(crate) struct CallChains {
    chains: Chains,
}

impl CallChains {
    fn highest(&self) -> &Chain {
        self.chains.highest()
    }
}

#[pymethods]
impl CallChains {
    #[new]
    #[pyo3(signature = (order=1, *, bound=1_048_576))]
    fn new(order: usize, bound: usize) -> PyResult<Self> {
        let order = Order::new(order).map_err(Fault::from)?;
        Ok(Self { chains: Chains::bounded(order, bound) })
    }

    #[getter]
    fn order(&self) -> usize {
        self.highest().order().calls()
    }

    #[getter]
    fn calls(&self) -> u64 {
        self.chains.calls()
    }

    #[getter]
    fn transitions(&self) -> u64 {
        self.highest().total()
    }

    /// Different transitions.
    fn __len__(&self) -> usize {
        self.highest().len()
    }

    fn push(&mut self, py: Python<'_>, calls: AnyArray) -> PyResult<()> {
        let chains = &mut self.chains;
        each_chunk(py, calls, |chunk| Ok(chains.push(chunk)?))
    }

    fn end(&mut self) {
        self.chains.end();
    }

    fn merge(&mut self, other: &Self) -> PyResult<()> {
        Ok(self.chains.merge(&other.chains).map_err(Fault::from)?)
    }

    fn walk(&self, py: Python<'_>, calls: AnyArray) -> PyResult<Walked> {
        let mut walker = Walker::new(self.highest());
        each_chunk(py, calls, |chunk| {
            walker.push(chunk);
            Ok(())
        })?;
        Ok(walked(walker.finish()))
    }

    fn walk_counted(&self, other: &Self) -> PyResult<Walked> {
        let walk = self.highest().walk_counted(other.highest()).map_err(Fault::from)?;
        Ok(walked(walk))
    }

    fn vocabulary(&self, other: &Self) -> usize {
        self.chains.vocabulary(&other.chains)
    }

    #[pyo3(signature = (other, *, additive, backoff, vocabulary))]
    fn bits(
        &self,
        other: &Self,
        additive: f64,
        backoff: f64,
        vocabulary: usize,
    ) -> PyResult<Option<f64>> {
        let smoothing = Smoothing::new(additive, backoff).map_err(Fault::from)?;
        let smoothed = Smoothed::new(&self.chains, smoothing, vocabulary);
        Ok(smoothed.bits(&other.chains).map_err(Fault::from)?)
    }

    #[pyo3(signature = (candidate, *, least))]
    fn topology(
        &self,
        candidate: &Self,
        least: f64,
    ) -> PyResult<(Option<f64>, Option<f64>, Option<f64>)> {
        let found = Topology::between(self.highest(), candidate.highest(), least);
        let found = found.map_err(Fault::from)?;
        Ok((found.jaccard_distance, found.weight_gap, found.total_variation))
    }

    #[pyo3(signature = (*, least=0.0))]
    fn edges(&self, least: f64) -> Vec<Edge> {
        let chain = self.highest();
        let calls = |state: State| state.calls(chain.order()).collect();
        Pruned::of(chain, least)
            .edges()
            .map(|(from, call, weight)| (calls(from), call, chain.count(from, call), weight))
            .collect()
    }

    #[pyo3(signature = (candidate, *, additive, backoff, most))]
    fn changes(
        &self,
        candidate: &Self,
        additive: f64,
        backoff: f64,
        most: usize,
    ) -> PyResult<Vec<Changed>> {
        let smoothing = Smoothing::new(additive, backoff).map_err(Fault::from)?;
        let found = trustbed_calls::changes(&self.chains, &candidate.chains, smoothing);
        let order = self.highest().order();
        let each = found.map_err(Fault::from)?.into_iter().take(most);
        Ok(each
            .map(|one| {
                (
                    one.from.calls(order).collect(),
                    one.call,
                    (one.reference, one.candidate),
                    (one.reference_probability, one.candidate_probability),
                    (one.bits, one.excess),
                )
            })
            .collect())
    }
}

fn walked(walk: Walk) -> Walked {
    (walk.log10, walk.invalid, walk.transitions)
}

/// Where in one thread's calls the transitions are made.
#[pyfunction]
#[pyo3(signature = (calls, transitions, *, initialisation, examples))]
pub(crate) fn call_occurrences(
    py: Python<'_>,
    calls: AnyArray,
    transitions: Vec<(Vec<u16>, u16)>,
    initialisation: u64,
    examples: usize,
) -> PyResult<Vec<Found>> {
    let Some(length) = transitions.first().map(|(state, _)| state.len()) else {
        return Ok(Vec::new());
    };
    let order = Order::new(length).map_err(Fault::from)?;
    let wanted = transitions
        .into_iter()
        .map(|(state, call)| Ok((packed(&state, order)?, call)))
        .collect::<PyResult<Vec<_>>>()?;
    let mut occurrences = Occurrences::new(order, &wanted, initialisation, examples);
    each_chunk(py, calls, |chunk| {
        occurrences.push(chunk);
        Ok(())
    })?;
    let phase = |found: PhaseCount| (found.count, found.first);
    let found = occurrences.finish().into_iter();
    Ok(found.map(|one| (phase(one.initialisation), phase(one.steady))).collect())
}

/// The calls of every thread of a trace, each thread with its number.
#[pyfunction]
pub(crate) fn split_calls(
    py: Python<'_>,
    threads: AnyArray,
    calls: AnyArray,
) -> PyResult<Vec<(u32, PyArray)>> {
    let (threads, _) = threads.into_chunked_array()?.into_inner();
    let (calls, _) = calls.into_chunked_array()?.into_inner();
    let split = py.detach(|| split(&threads, &calls))?;
    let arrays = split.into_sequences().into_iter();
    Ok(arrays
        .map(|(thread, calls)| {
            (thread, PyArray::from_array_ref(Arc::new(UInt16Array::from(calls))))
        })
        .collect())
}

/// The chunks of the two columns may end at different rows.
fn split(threads: &[ArrayRef], calls: &[ArrayRef]) -> Result<Threads, Fault> {
    for chunk in threads {
        checked(chunk, &DataType::UInt32)?;
    }
    for chunk in calls {
        checked(chunk, &DataType::UInt16)?;
    }
    let rows = |chunks: &[ArrayRef]| chunks.iter().map(Array::len).sum::<usize>();
    let (of_threads, of_calls) = (rows(threads), rows(calls));
    if of_threads != of_calls {
        let unequal = CallsError::UnequalColumns { threads: of_threads, calls: of_calls };
        return Err(unequal.into());
    }
    let mut split = Threads::default();
    let mut numbers = threads.iter().map(AsArray::as_primitive::<UInt32Type>);
    let mut own: &[u32] = &[];
    for chunk in calls {
        let mut rest: &[u16] = chunk.as_primitive::<UInt16Type>().values();
        while !rest.is_empty() {
            if own.is_empty() {
                own = numbers.next().map_or(&[], |chunk: &UInt32Array| chunk.values());
                continue;
            }
            let both = own.len().min(rest.len());
            split.push(&own[..both], &rest[..both])?;
            (own, rest) = (&own[both..], &rest[both..]);
        }
    }
    Ok(split)
}
