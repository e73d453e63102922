//! Breadth first through every state, so that the first counterexample is a shortest one.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use super::engine::Engine;
use super::invariant::{Promise, at_rest};
use super::moves::{Move, successors};
use super::state::{OPERATIONS, Row, State, Status};
use super::variant::{Bounds, Variant};

/// A run that is bigger than this has lost its bounds.
const STATES_MAX: usize = 8_000_000;

pub struct Broken {
    pub promise: &'static str,
    /// What happened, one line a move.
    pub story: Vec<String>,
}

pub struct Search {
    pub states: usize,
    pub moves: usize,
    pub broken: Option<Broken>,
}

/// The usual hasher withstands attackers; this one is fast.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u8(*byte));
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn finish(&self) -> u64 {
        // The table takes the high bits, where a multiplication mixes best, and the low ones.
        self.0 ^ self.0 >> 32
    }
}

/// Where a state was first reached from.
struct Trail(Vec<(u32, Option<Move>)>);

impl Trail {
    fn story(&self, mut at: u32) -> Vec<String> {
        let mut story = Vec::new();
        while let (before, Some(step)) = self.0[at as usize] {
            story.push(format!("{step:?}"));
            at = before;
        }
        story.reverse();
        story
    }
}

/// Looks at every state that this protocol can reach within these bounds, until a promise is broken.
pub fn search(variant: Variant, bounds: Bounds, promises: &[Promise]) -> Search {
    explore(&Engine { variant, bounds }, promises, |_, _| {}).0
}

/// Looks for a state from which no end can be reached any more: a jammed lane.
pub fn jam(variant: Variant, bounds: Bounds) -> Search {
    let (mut edges, mut ends) = (Vec::new(), Vec::new());
    let (mut search, trail) = explore(&Engine { variant, bounds }, &[], |from, to| match to {
        Some(to) => edges.push((to, from)),
        None => ends.push(from),
    });
    // Backwards from the ends; what is not met cannot end.
    edges.sort_unstable();
    let mut can_end = vec![false; search.states];
    while let Some(state) = ends.pop() {
        if std::mem::replace(&mut can_end[state as usize], true) {
            continue;
        }
        let first = edges.partition_point(|(to, _)| *to < state);
        ends.extend(edges[first..].iter().take_while(|(to, _)| *to == state).map(|(_, from)| *from));
    }
    let stuck = can_end.iter().position(|can| !can);
    search.broken = stuck.map(|state| Broken { promise: "every run can end", story: trail.story(state as u32) });
    search
}

/// Calls `seen` with each edge, and with each state at rest.
fn explore(engine: &Engine, promises: &[Promise], mut seen: impl FnMut(u32, Option<u32>)) -> (Search, Trail) {
    let compared = engine.variant.compares();
    let start = start(engine.bounds);
    let mut numbers: HashMap<State, u32, BuildHasherDefault<Mix>> = HashMap::default();
    numbers.insert(start, 0);
    let mut trail = Trail(vec![(0, None)]);
    let mut open = VecDeque::from([(start, 0_u32)]);
    let (mut moves, mut broken) = (0, None);
    while let (Some((state, from)), None) = (open.pop_front(), &broken) {
        if at_rest(&state) {
            seen(from, None);
        }
        successors(engine, &state, |step, next| {
            moves += 1;
            let next = next.normal(compared);
            let fresh = numbers.len() as u32;
            let to = *numbers.entry(next).or_insert(fresh);
            seen(from, Some(to));
            if to == fresh {
                trail.0.push((from, Some(step)));
                open.push_back((next, to));
            }
            if let (Some((promise, _)), None) = (promises.iter().find(|(_, keeps)| !keeps(&state, &next)), &broken) {
                let mut story = trail.story(from);
                story.push(format!("{step:?}"));
                broken = Some(Broken { promise, story });
            }
        });
        assert!(numbers.len() < STATES_MAX, "the bounds do not bound: {:?}", engine.bounds);
    }
    (Search { states: numbers.len(), moves, broken }, trail)
}

/// Operations beyond the bounds never were.
fn start(bounds: Bounds) -> State {
    let mut state = State::start(bounds.reorgs, bounds.foreign);
    for row in &mut state.rows[bounds.operations..OPERATIONS] {
        *row = Row { status: Status::Failed, over: true, abandoned: true, ..Row::NEW };
    }
    state
}
