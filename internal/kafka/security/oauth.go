package security

import "github.com/twmb/franz-go/pkg/sasl"

func (v *values) oauth(module) sasl.Mechanism    { v.bad("sasl.mechanism", "soon"); return nil }
func (v *values) msk(module) sasl.Mechanism      { v.bad("sasl.mechanism", "soon"); return nil }
func (v *values) kerberos(module) sasl.Mechanism { v.bad("sasl.mechanism", "soon"); return nil }

// TokenError is a token that could not be had, in one line.
type TokenError struct{ Text string }

func (e *TokenError) Error() string { return e.Text }
