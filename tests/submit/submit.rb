# SPDX-License-Identifier: Apache-2.0
# submit JOB CONFIG: see submit.py.
job, config = ARGV
Dir.mkdir(job)
File.write("#{job}/code.sh", "out hello\nerr oops\nwrite result.txt made\nexit 7\n")
File.open("#{job}/config.json", "w") { |f| f.write(config) }
%w[wait stdout output/result.txt].each { |name| print File.read("#{job}/#{name}") }
