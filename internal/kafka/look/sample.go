package look

// sampled is what the sample tells of a topic.
type sampled struct{}

func (s *sampled) controlShare() float64 { return 0 }

// timeless returns why the times of a topic's records tell no rate; "": they do.
func (t *topic) timeless(live float64) string { return "" }
