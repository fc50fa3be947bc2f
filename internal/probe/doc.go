// Package probe measures what the disks below a directory give Kafka.
//
//	plan, err := probe.Check(options)      // every reason not to begin, before anything is written
//	report, err := probe.Run(ctx, options, show)
//	fmt.Println(report.Directories[0].PlanMiBPerSecond)
//
// It writes to files that have no name, so nothing stays behind when kt is
// killed. Data is random and no two blocks of it are equal: a disk that
// compresses or stores equal blocks once gains nothing. What the kernel counts on
// the device is told beside what the calls returned, since a write to the page
// cache is done long before a disk has seen it.
//
// The tests, each run alone, directory by directory:
//
//	write     direct writes, one file, 4 at a time: the ceiling of the device
//	append    buffered appends to many files, as Kafka writes: the figure to plan with
//	sync      an append and fdatasync, one at a time: what a controller waits for
//	commit    paced appends while another file is synced: the stalls of a journal
//	read      direct reads, one file after the other and many in turn: catching up
//	mixed     appends at 70 % of what append found, with reads beside them
//	parallel  write in all directories at once: whether they share a path
//	dd        the table of dd, row by row, with the command that each row stands for
//
// Rates are in MiB/s, 1,048,576 bytes; those of dd are in MB/s, as dd prints them.
package probe
