package stats

// ScanWindow reads a window as encoding/json writes it, in a tenth of the time. ok is false if only
// encoding/json can read it: a window with events, names with escapes, fields of a later version,
// or no window at all. If both can, they read the same. The window shares no memory with text.
func ScanWindow(text []byte) (w Window, ok bool) {
	s := scanner{text: text}
	s.window(&w)
	if !s.done() {
		return Window{}, false
	}
	return w, true
}

// window reads the fields of a Window, in their order.
func (s *scanner) window(w *Window) {
	s.open()
	integer(s, `"start_ns":`, &w.Start)
	integer(s, `"end_ns":`, &w.End)
	s.flag(`"warmup":`, &w.Warmup)
	integer(s, `"offered":`, &w.Offered)
	integer(s, `"acknowledged":`, &w.Acknowledged)
	integer(s, `"failed":`, &w.Failed)
	integer(s, `"unknown":`, &w.Unknown)
	integer(s, `"unsent":`, &w.Unsent)
	integer(s, `"bytes":`, &w.Bytes)
	integer(s, `"first_due_ns":`, &w.FirstDue)
	integer(s, `"last_due_ns":`, &w.LastDue)
	integer(s, `"last_sent_ns":`, &w.LastSent)
	integer(s, `"last_ack_ns":`, &w.LastAck)
	s.counts(`"errors":`, &w.Errors)
	s.histogramField(`"send_delay":`, &w.SendDelay)
	s.histogramField(`"own_send_delay":`, &w.OwnSendDelay)
	s.histogramField(`"service":`, &w.Service)
	s.histogramField(`"response":`, &w.Response)
	integer(s, `"shard_time_ns":`, &w.ShardTime)
	integer(s, `"buffer_full_ns":`, &w.BufferFull)
	integer(s, `"in_flight_use_ns":`, &w.InFlightUse)
	integer(s, `"conn_time_ns":`, &w.ConnTime)
	for _, c := range w.each() {
		integer(s, c.field, c.n)
	}
	s.gap(`"outage":`, &w.Outage)
	integer(s, `"oldest_ns":`, &w.Oldest)
	integer(s, `"op_span_ns":`, &w.OpSpan)
	s.read(&w.Read)
	s.partitions(`"partitions":`, &w.Partitions)
	s.brokers(`"brokers":`, &w.Brokers)
	s.counts(`"events_left_out":`, &w.EventsLeftOut)
	s.end()
}

func (s *scanner) read(r *Read) {
	integer(s, `"consumed":`, &r.Consumed)
	integer(s, `"consumed_bytes":`, &r.ConsumedBytes)
	integer(s, `"first_read_ns":`, &r.FirstRead)
	integer(s, `"last_read_ns":`, &r.LastRead)
	s.histogramField(`"end_to_end":`, &r.EndToEnd)
	integer(s, `"consumer_lag":`, &r.ConsumerLag)
	integer(s, `"read_time_ns":`, &r.ReadTime)
	integer(s, `"read_wait_ns":`, &r.ReadWait)
	integer(s, `"read_held_ns":`, &r.ReadHeld)
	integer(s, `"fetches":`, &r.Fetches)
	s.counts(`"fetch_errors":`, &r.FetchErrors)
	integer(s, `"join_time_ns":`, &r.JoinTime)
	integer(s, `"rebalances":`, &r.Rebalances)
	integer(s, `"rebalance_time_ns":`, &r.RebalanceTime)
	integer(s, `"rebalance_max_ns":`, &r.RebalanceMax)
	integer(s, `"commits":`, &r.Commits)
	integer(s, `"commit_time_ns":`, &r.CommitTime)
}

func (s *scanner) partitions(name string, to *map[int32]Partition) {
	if !s.field(name) {
		return
	}
	*to = make(map[int32]Partition)
	s.open()
	for id, ok := s.id(); ok; id, ok = s.id() {
		var p Partition
		s.open()
		integer(s, `"records":`, &p.Records)
		integer(s, `"bytes":`, &p.Bytes)
		integer(s, `"service_sum_ns":`, &p.ServiceSum)
		integer(s, `"service_max_ns":`, &p.ServiceMax)
		if s.field(`"service":`) && p.Service.UnmarshalText(s.quoted()) != nil {
			s.bad = true
		}
		s.gap(`"outage":`, &p.Outage)
		integer(s, `"consumed":`, &p.Consumed)
		integer(s, `"consumed_bytes":`, &p.ConsumedBytes)
		integer(s, `"consumer_lag":`, &p.ConsumerLag)
		integer(s, `"deleted":`, &p.Deleted)
		s.end()
		(*to)[id] = p
	}
	s.end()
}

func (s *scanner) brokers(name string, to *map[int32]Broker) {
	if !s.field(name) {
		return
	}
	*to = make(map[int32]Broker)
	s.open()
	for id, ok := s.id(); ok; id, ok = s.id() {
		var b Broker
		s.open()
		s.traffic(&b.Traffic)
		if s.field(`"fetch":`) {
			s.open()
			s.traffic(&b.Fetch)
			s.end()
		}
		s.end()
		(*to)[id] = b
	}
	s.end()
}

func (s *scanner) traffic(t *Traffic) {
	integer(s, `"requests":`, &t.Requests)
	integer(s, `"failed":`, &t.Failed)
	integer(s, `"batches":`, &t.Batches)
	integer(s, `"records":`, &t.Records)
	integer(s, `"bytes":`, &t.Bytes)
	integer(s, `"wire_bytes":`, &t.WireBytes)
	integer(s, `"throttle_ns":`, &t.Throttle)
	s.histogramField(`"latency":`, &t.Latency)
}

func (s *scanner) gap(name string, g *Gap) {
	if s.field(name) {
		s.open()
		integer(s, `"from_ns":`, &g.From)
		integer(s, `"length_ns":`, &g.Length)
		s.end()
	}
}

func (s *scanner) histogramField(name string, h *Histogram) {
	if s.field(name) {
		s.histogram(h)
	}
}
