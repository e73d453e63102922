//! What a process takes of the machine, by the kernel's word.

/// The kernel counts a process's time in hundredths of a second.
const TICKS_A_SECOND: f64 = 100.0;

/// Processor seconds of a process so far, its own and the kernel's for it; none of one that has ended.
pub fn seconds(pid: u32) -> f64 {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return 0.0 };
    // The name in parentheses may hold spaces; the numbers follow it.
    let fields: Vec<f64> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .map(|field| field.parse().unwrap_or_default())
        .collect();
    (fields[11] + fields[12]) / TICKS_A_SECOND
}

/// The memory that it has in use now, in megabytes.
pub fn resident_megabytes(pid: u32) -> f64 {
    megabytes(pid, "VmRSS:")
}

/// The most that it had in use since it began.
pub fn peak_megabytes(pid: u32) -> f64 {
    megabytes(pid, "VmHWM:")
}

fn megabytes(pid: u32, name: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1_024.0
}
