//! The core that a thread runs on.

/// Keeps this thread, and the threads and processes that it starts, on one core. Where that is not allowed, they take longer and nothing else.
pub fn stay_on_core(number: usize) {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let own: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
        let mut one = CpuSet::new();
        one.set(own[number % own.len()]);
        _ = sched_setaffinity(None, &one);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = number;
}
