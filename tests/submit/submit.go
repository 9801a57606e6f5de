// SPDX-License-Identifier: Apache-2.0

// submit JOB CONFIG: see submit.py.
package main

import (
	"fmt"
	"os"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	job, config := os.Args[1], os.Args[2]
	check(os.Mkdir(job, 0o755))
	check(os.WriteFile(job+"/code.sh",
		[]byte("out hello\nerr oops\nwrite result.txt made\nexit 7\n"), 0o644))
	check(os.WriteFile(job+"/config.json", []byte(config), 0o644))
	for _, name := range []string{"wait", "stdout", "output/result.txt"} {
		text, err := os.ReadFile(job + "/" + name)
		check(err)
		os.Stdout.Write(text)
	}
}
