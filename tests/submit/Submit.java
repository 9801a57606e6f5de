// SPDX-License-Identifier: Apache-2.0

import java.nio.file.Files;
import java.nio.file.Path;

/** submit JOB CONFIG: see submit.py. */
public class Submit {
	public static void main(String[] args) throws Exception {
		Path job = Path.of(args[0]);
		Files.createDirectory(job);
		Files.writeString(job.resolve("code.sh"),
			"out hello\nerr oops\nwrite result.txt made\nexit 7\n");
		try (var f = new java.io.FileOutputStream(job + "/config.json")) {
			f.write(args[1].getBytes());
		}
		Files.readAllBytes(job.resolve("wait"));
		for (String name : new String[] {"exit_code", "stdout", "output/result.txt"})
			System.out.print(Files.readString(job.resolve(name)));
	}
}
