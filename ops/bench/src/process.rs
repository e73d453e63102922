//! What a process takes of the machine, by the kernel's word.

/// The kernel counts a process's time in hundredths of a second.
const TICKS_A_SECOND: f64 = 100.0;

/// Processor seconds of a process so far, its own and the kernel's for it; none of one that has ended.
pub fn seconds(pid: u32) -> f64 {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return 0.0 };
    let fields = numbers(&text);
    (fields[11] + fields[12]) / TICKS_A_SECOND
}

/// The same of a database server, by any of its processes: it has one for each connection, and those that ended count too.
pub fn server_seconds(pid: u32) -> f64 {
    let stat = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().map(|text| numbers(&text));
    let Some(parent) = stat(&pid.to_string()).map(|fields| fields[1]) else { return 0.0 };
    let ended = stat(&parent.to_string()).map_or(0.0, |fields| fields[11..15].iter().sum());
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let fields = all.filter_map(|entry| stat(entry.file_name().to_str()?));
    let children: f64 = fields.filter(|fields| fields[1] == parent).map(|fields| fields[11] + fields[12]).sum();
    (children + ended) / TICKS_A_SECOND
}

/// The fields of a line of the kernel that follow the name in parentheses, which may hold spaces.
fn numbers(text: &str) -> Vec<f64> {
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.map(|field| field.parse().unwrap_or_default()).collect()
}

/// Kilobytes that it has written so far, to files and sockets.
pub fn written_kilobytes(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let bytes = text.lines().find_map(|line| line.strip_prefix("wchar: ")).and_then(|bytes| bytes.parse::<f64>().ok());
    bytes.unwrap_or(f64::NAN) / 1_024.0
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
