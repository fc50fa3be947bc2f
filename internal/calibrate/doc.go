// Package calibrate finds how much load a host can offer, whatever the brokers: by runs against a sink that takes
// everything. It knows no sink and no command line: a Maker makes the runs.
//
//	d, err := calibrate.Measure(ctx, calibrate.Options{Clients: 0, CPUs: 2, Rates: calibrate.Rates}, maker)
//	err = calibrate.Save(path, d)
//	ceiling, err := calibrate.Find(path, calibrate.Shape(&h, false), h.KTVersion, h.Environment.Host)
package calibrate
