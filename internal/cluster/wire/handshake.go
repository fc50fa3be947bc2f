package wire

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"io"
)

// Version is the version of the protocol: handshake and messages. Both sides must have the same.
const Version byte = 1

const (
	magic     = 'K' // memberlist's messages begin with 0 to 13, or 244
	nonceSize = 32
	proofSize = sha256.Size

	helloSize = 2 + nonceSize + proofSize // magic, version, nonce, proof: in all versions
	replySize = 1 + nonceSize + proofSize // version, nonce, proof: likewise
)

// hello is the first message of the dialling side.
type hello struct {
	version byte
	nonce   [nonceSize]byte
}

// reply is the answer of the listening side to a hello.
type reply struct {
	version byte
	nonce   [nonceSize]byte
}

func newHello(version byte) hello {
	h := hello{version: version}
	_, _ = rand.Read(h.nonce[:]) // cannot fail
	return h
}

func newReply() reply { return reply(newHello(Version)) }

// proof returns a MAC that only an owner of the key can make. who is the side that makes it, so
// that a proof which is sent back to its maker is not valid.
func proof(k *Key, who string, said ...[]byte) []byte {
	secret := k.Derive("wire proof of the side that " + who)
	mac := hmac.New(sha256.New, secret[:])
	for _, part := range said { // of fixed lengths, so the concatenation is unambiguous
		mac.Write(part)
	}
	return mac.Sum(nil)
}

func (h hello) proof(k *Key) []byte {
	return proof(k, "dials", []byte{h.version}, h.nonce[:])
}

// proof of a reply is valid for one hello only.
func (r reply) proof(k *Key, h hello) []byte {
	return proof(k, "listens", []byte{r.version, h.version}, h.nonce[:], r.nonce[:])
}

func (h hello) encode(k *Key) []byte {
	out := append([]byte{magic, h.version}, h.nonce[:]...)
	return append(out, h.proof(k)...)
}

func (r reply) encode(k *Key, h hello) []byte {
	out := append([]byte{r.version}, r.nonce[:]...)
	return append(out, r.proof(k, h)...)
}

// readHello reads a hello and no further bytes. A hello that is not valid is ErrAuth.
func readHello(r io.Reader, k *Key) (hello, error) {
	var in [helloSize]byte
	if _, err := io.ReadFull(r, in[:]); err != nil {
		return hello{}, err
	}
	h := hello{version: in[1], nonce: [nonceSize]byte(in[2:])}
	if in[0] != magic || !hmac.Equal(in[2+nonceSize:], h.proof(k)) {
		return hello{}, ErrAuth
	}
	return h, nil
}

// readReply reads the answer to a hello and no further bytes.
func readReply(r io.Reader, k *Key, h hello) (reply, error) {
	var in [replySize]byte
	if _, err := io.ReadFull(r, in[:]); err != nil {
		return reply{}, err
	}
	out := reply{version: in[0], nonce: [nonceSize]byte(in[1:])}
	if !hmac.Equal(in[1+nonceSize:], out.proof(k, h)) {
		return reply{}, ErrAuth
	}
	return out, nil
}

// seals returns the ciphers of one stream for both directions. Their keys depend on both nonces,
// so that a frame of one stream is not valid in another.
func seals(k *Key, h hello, r reply) (toListener, toDialer cipher.AEAD) {
	salt := append(h.nonce[:], r.nonce[:]...)
	return newSeal(derive(*k, salt, "kt wire frames to the side that listens")),
		newSeal(derive(*k, salt, "kt wire frames to the side that dials"))
}

func newSeal(key [32]byte) cipher.AEAD {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("wire: " + err.Error()) // only of the key's length, which is constant
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		panic("wire: " + err.Error()) // only of the block's size
	}
	return seal
}
