//! The processor time, memory and writes of a process, as the kernel counts them.

/// The kernel counts a process's time in hundredths of a second.
const TICKS_A_SECOND: f64 = 100.0;

/// User and system processor seconds of a process so far. 0 for one that has ended.
pub fn seconds(pid: u32) -> f64 {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return 0.0 };
    let fields = numbers(&text);
    (fields[11] + fields[12]) / TICKS_A_SECOND
}

/// The same for a database server, found by one of its processes. It has one for each connection; ended ones count too.
pub fn server_seconds(pid: u32) -> f64 {
    let stat = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().map(|text| numbers(&text));
    let Some(parent) = stat(&pid.to_string()).map(|fields| fields[1]) else { return 0.0 };
    let ended = stat(&parent.to_string()).map_or(0.0, |fields| fields[11..15].iter().sum());
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let fields = all.filter_map(|entry| stat(entry.file_name().to_str()?));
    let children: f64 = fields.filter(|fields| fields[1] == parent).map(|fields| fields[11] + fields[12]).sum();
    (children + ended) / TICKS_A_SECOND
}

/// The fields after the name in parentheses, which may contain spaces.
fn numbers(text: &str) -> Vec<f64> {
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.map(|field| field.parse().unwrap_or_default()).collect()
}

/// Kilobytes that it has written to files and sockets so far.
pub fn written_kilobytes(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let bytes = text.lines().find_map(|line| line.strip_prefix("wchar: ")).and_then(|bytes| bytes.parse::<f64>().ok());
    bytes.unwrap_or(f64::NAN) / 1_024.0
}

/// Its resident memory, in megabytes.
pub fn resident_megabytes(pid: u32) -> f64 {
    megabytes(pid, "VmRSS:")
}

/// Its highest resident memory, in megabytes.
pub fn peak_megabytes(pid: u32) -> f64 {
    megabytes(pid, "VmHWM:")
}

fn megabytes(pid: u32, name: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1_024.0
}
