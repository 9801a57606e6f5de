// SPDX-License-Identifier: Apache-2.0
//! submit JOB CONFIG: see submit.py. Rust does not tell what a close says; the
//! state does.
use std::{env, fs, process};

fn main() -> std::io::Result<()> {
    let args: Vec<String> = env::args().collect();
    let job = std::path::Path::new(&args[1]);

    fs::create_dir(job)?;
    fs::write(
        job.join("code.sh"),
        "out hello\nerr oops\nwrite result.txt made\nexit 7\n",
    )?;
    fs::write(job.join("config.json"), &args[2])?;
    if fs::read_to_string(job.join("state"))? == "refused\n" {
        eprint!("{}", fs::read_to_string(job.join("error"))?);
        process::exit(1);
    }
    for name in ["wait", "stdout", "output/result.txt"] {
        print!("{}", fs::read_to_string(job.join(name))?);
    }
    Ok(())
}
