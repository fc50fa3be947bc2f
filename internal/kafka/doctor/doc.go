// Package doctor examines a cluster from this host: does each broker answer where it says, may
// this client do what a load does, and is anything set that spoils a test.
//
//	report, err := doctor.Examine(ctx, doctor.Options{Access: access, Topic: "orders", Duration: time.Hour})
//	for _, c := range report.Checks { fmt.Println(c.State, c.Name, c.About, c.Text, c.Advice) }
//
// Each finding is a Check, a value. What may not be read is unknown, never a pass and never a failure. Only the topic and
// the group that Examine itself makes are written to, and they are deleted again, also after an interrupt.
package doctor
