package plan

// Given is a property of a Kafka client as the user gave it, and where: "--acks",
// "--command-property", "client.properties", "KT_ACKS".
type Given struct {
	Value  string `json:"value"`
	Source string `json:"source"`
}
